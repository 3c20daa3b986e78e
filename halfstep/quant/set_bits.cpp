#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <vector>

#include "halfstep/base/objection.h"
#include "halfstep/ir/decisions.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/passes/traits.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/quant/quantizer.h"
#include "halfstep/quant/selector.h"

namespace halfstep::quant {
namespace {

using passes::QuantizedStep;

/// The operation that gives the step its name.
Op layer_of(const QuantizedStep& step) { return step.main ? step.main : Op(step.quantizer); }

std::string pattern_hint(const std::string& selector, const std::vector<QuantizedStep>& steps) {
  std::vector<Op> layers;
  for (const auto& step : steps) layers.push_back(layer_of(step));
  return known_layers(selector, layers);
}

std::vector<QuantizedStep> matching(const std::vector<QuantizedStep>& steps, const std::string& selector,
                                    const LayerNames& names) {
  std::vector<QuantizedStep> chosen;
  std::ranges::copy_if(steps, std::back_inserter(chosen),
                       [&](const auto& step) { return names.fits(selector, layer_of(step)); });
  if (chosen.empty()) fail("selector '{}' matches no layer{}", selector, pattern_hint(selector, steps));
  const auto has_codes = [](const auto& step) { return step.weight || step.quantizer; };
  if (std::ranges::none_of(chosen, has_codes))
    fail("selector '{}': {} '{}' has no quantizer of its own, expected a layer or a quantizer", selector,
         chosen.front().main.info().name, chosen.front().name());
  return chosen;
}

/// New widths of quantizers, and of whatever shares a scale with them.
class Widths {
 public:
  void set(const ops::FakeQuantize& quantizer, int bits) {
    changed_[passes::scale_tensor(quantizer).name()] = {quantizer, bits};
  }

  /// Every operator that reads or gives codes of a new width, or has a weight of one, takes all of its widths.
  void require_legal(const Platform& platform, const std::vector<QuantizedStep>& steps) const {
    std::vector<Objection> objections;
    const auto has_weight = [](const QuantizedStep& step) { return static_cast<bool>(step.weight); };
    const auto first = std::ranges::find_if(steps, has_weight);
    const auto last = std::ranges::find_if(std::views::reverse(steps), has_weight);
    for (const QuantizedStep& step : steps) {
      const auto features = feature_quantizers(step);
      const bool touched = (step.weight && changes(step.weight)) ||
                           std::ranges::any_of(features, [&](const auto& quantizer) { return changes(quantizer); });
      if (!touched) continue;
      const Op op = layer_of(step);
      Selected selection = selected(op);
      selection.is_first = first != steps.end() && &step == &*first;
      selection.is_last = first != steps.end() && &step == &*last;
      if (!features.empty()) selection.gives = bits(features.back());
      for (size_t i = 0; i + 1 < features.size(); ++i) selection.reads.insert(bits(features[i]));
      std::set<int> widths;
      for (const auto& quantizer : features) widths.insert(bits(quantizer));
      for (const int width : widths) {  // a weight's width is wrong once, however many widths the features have
        for (Objection& one : platform.objections(selection, step.weight ? bits(step.weight) : 0, width)) {
          one.layer = op.name();
          one.where = op.where();
          if (std::ranges::find(objections, one) == objections.end()) objections.push_back(std::move(one));
        }
      }
    }
    refuse_all(std::move(objections));
  }

  void apply(Model& model, const Platform& platform) const {
    for (const auto& [scale, change] : changed_) set_quantizer_bits(model, platform, change.first, change.second);
  }

 private:
  /// Those of the codes that go into a step and come out of it.
  static std::vector<ops::FakeQuantize> feature_quantizers(const QuantizedStep& step) {
    if (step.kind == passes::StepKind::real) return {};
    std::vector<Value> values = step.coded_inputs();
    values.push_back(step.result());
    std::vector<ops::FakeQuantize> quantizers;
    for (const Value value : values) quantizers.emplace_back(passes::unmoved(value).producer().node());
    return quantizers;
  }

  bool changes(const ops::FakeQuantize& quantizer) const {
    return changed_.contains(passes::scale_tensor(quantizer).name());
  }
  int bits(const ops::FakeQuantize& quantizer) const {
    const auto found = changed_.find(passes::scale_tensor(quantizer).name());
    return found == changed_.end() ? bits_of(quantizer) : found->second.second;
  }

  std::map<std::string, std::pair<ops::FakeQuantize, int>> changed_;  ///< by the name of the scale
};

}  // namespace

void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> feature_bits) {
  const Platform platform = platform_of(model);
  const auto steps = passes::quantized_steps(model);
  Widths widths;
  for (const auto& step : matching(steps, selector, LayerNames(model))) {
    if (weight_bits && step.weight) widths.set(step.weight, *weight_bits);
    if (feature_bits && step.quantizer) widths.set(step.quantizer, *feature_bits);
  }
  widths.require_legal(platform, steps);
  widths.apply(model, platform);
}

void set_inner_bits(Model& model, int weight_bits, int feature_bits) {
  const Platform platform = platform_of(model);
  const auto steps = passes::quantized_steps(model);
  const auto edges = edge_scales(model);
  Widths widths;
  const auto set = [&](const ops::FakeQuantize& quantizer, int bits) {
    if (quantizer && !edges.contains(passes::scale_tensor(quantizer).name())) widths.set(quantizer, bits);
  };
  for (const auto& step : steps) {
    set(step.weight, weight_bits);
    set(step.quantizer, feature_bits);
  }
  widths.require_legal(platform, steps);
  widths.apply(model, platform);
}

}  // namespace halfstep::quant
