#include "halfstep/tune/allocation/width_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/core/ir/flops.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/tune/allocation/errors.h"

namespace halfstep::allocation {
namespace {

using passes::QuantizedStep;

class Reader {
 public:
  Reader(const Model& prepared, bool with_edges)
      : model_(prepared),
        platform_(quant::platform_of(prepared)),
        steps_(passes::quantized_steps(prepared)),
        rules_(platform_, steps_) {
    if (!with_edges) edges_ = first_last_scales(prepared);
    const Dims& dims = prepared.graph.arguments().front().dims();
    if (!dims.empty()) batch_ = static_cast<double>(dims[0]);
  }

  Layout run() {
    const auto audited = quant::audit(model_).quantizers;
    const auto quantizers = model_.graph.all<ops::FakeQuantize>();
    for (size_t i = 0; i < quantizers.size(); ++i) add(quantizers[i], audited[i]);
    for (const QuantizedStep& step : steps_) add_layer(step);
    for (const QuantizedStep& step : steps_) add_clashes(step);
    return std::move(layout_);
  }

 private:
  void add(const ops::FakeQuantize& quantizer, const quant::AuditedQuantizer& audited) {
    const std::string scale = passes::scale_tensor(quantizer).name();
    const auto [at, is_new] = numbers_.try_emplace(scale, static_cast<int>(layout_.groups.size()));
    if (is_new) {
      Group group{scale, audited.tensor, audited.layer, {}, audited.is_weight, audited.bits, {audited.bits}};
      const quant::BitRule& rule = audited.is_weight ? platform_.weights : platform_.activations;
      if (!edges_.contains(scale)) {
        group.bit_widths.assign(rule.legal.begin(), rule.legal.end());
        // Includes bit widths that only a rule lists. add_clashes removes those that no layer may have.
        for (const quant::LegalRule& one : platform_.legal) {
          for (const auto* more :
               {audited.is_weight ? &one.weights : &one.activations, audited.is_weight ? nullptr : &one.gives}) {
            if (more != nullptr) group.bit_widths.insert(group.bit_widths.end(), more->begin(), more->end());
          }
        }
        std::ranges::sort(group.bit_widths);
        group.bit_widths.erase(std::ranges::unique(group.bit_widths).begin(), group.bit_widths.end());
      }
      layout_.groups.push_back(std::move(group));
    }
    layout_.groups[static_cast<size_t>(at->second)].quantizers.push_back(quantizer.name());
  }

  int group_of(const ops::FakeQuantize& quantizer) const { return numbers_.at(passes::scale_tensor(quantizer).name()); }

  void add_layer(const QuantizedStep& step) {
    if (step.kind == passes::StepKind::real) return;
    const Op op = quant::layer_of(step);
    Layer layer{op.name(), op.info().name};
    const auto activations = quant::activation_quantizers(step);
    if (activations.size() > 1) layer.reads = group_of(activations.front());
    if (step.weight) {
      layer.weight = group_of(step.weight);
      layer.weight_elements = count_elements(step.weight.x().dims());
      layer.multiplications = static_cast<double>(flops(op)) / 2 / batch_;
    }
    layout_.layers.push_back(std::move(layer));
  }

  /// Tries all bit widths of the groups that meet in a step. Removes bit widths that no legal combination contains.
  void add_clashes(const QuantizedStep& step) {
    std::vector<int> meeting;
    const auto meet = [&](const ops::FakeQuantize& quantizer) {
      const int group = group_of(quantizer);
      if (std::ranges::find(meeting, group) == meeting.end()) meeting.push_back(group);
    };
    if (step.weight) meet(step.weight);
    for (const auto& quantizer : quant::activation_quantizers(step)) meet(quantizer);
    std::vector<Clash> allowed, clashes;
    Clash chosen;
    try_bit_widths(step, meeting, 0, chosen, allowed, clashes);
    for (const int number : meeting) {
      Group& group = layout_.groups[static_cast<size_t>(number)];
      std::erase_if(group.bit_widths, [&](int width) {
        return std::ranges::none_of(
            allowed, [&](const Clash& one) { return std::ranges::find(one, std::pair(number, width)) != one.end(); });
      });
      if (group.bit_widths.empty()) fail(errors::no_width_for_layer(quant::layer_of(step).name(), group.tensor));
    }
    for (Clash& clash : clashes) {
      const bool is_possible = std::ranges::all_of(clash, [&](const auto& one) {
        return std::ranges::find(layout_.groups[static_cast<size_t>(one.first)].bit_widths, one.second) !=
               layout_.groups[static_cast<size_t>(one.first)].bit_widths.end();
      });
      if (is_possible) layout_.clashes.push_back(std::move(clash));
    }
  }

  void try_bit_widths(const QuantizedStep& step, const std::vector<int>& meeting, size_t next, Clash& chosen,
                      std::vector<Clash>& allowed, std::vector<Clash>& clashes) const {
    if (next < meeting.size()) {
      for (const int width : layout_.groups[static_cast<size_t>(meeting[next])].bit_widths) {
        chosen.emplace_back(meeting[next], width);
        try_bit_widths(step, meeting, next + 1, chosen, allowed, clashes);
        chosen.pop_back();
      }
      return;
    }
    const auto bits = [&](const ops::FakeQuantize& quantizer) {
      const int group = group_of(quantizer);
      return std::ranges::find(chosen, group, &std::pair<int, int>::first)->second;
    };
    (rules_.objections(step, bits).empty() ? allowed : clashes).push_back(chosen);
  }

  const Model& model_;
  const quant::Platform platform_;
  const std::vector<QuantizedStep> steps_;
  const quant::WidthRules rules_;
  FirstLastScales edges_;
  double batch_ = 1;
  std::map<std::string, int> numbers_;  ///< index of groups by scale
  Layout layout_;
};

}  // namespace

Assignment Layout::now() const {
  Assignment now;
  for (const Group& group : groups) now.push_back(group.now);
  return now;
}

quant::BitWidths Layout::bit_widths(const Assignment& assignment) const {
  quant::BitWidths bit_widths;
  for (size_t g = 0; g < groups.size(); ++g) bit_widths[groups[g].scale] = assignment[g];
  return bit_widths;
}

Layout layout_of(const Model& prepared, bool with_edges) { return Reader(prepared, with_edges).run(); }

}  // namespace halfstep::allocation
