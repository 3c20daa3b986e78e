#include "halfstep/quant/prepare/layer_bits.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/canonical/lone_affines.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {

using passes::QuantizedStep;

Op layer_of(const QuantizedStep& step) { return step.main ? step.main : Op(step.quantizer); }

std::vector<ops::FakeQuantize> activation_quantizers(const QuantizedStep& step) {
  if (step.kind == passes::StepKind::real) return {};
  std::vector<Value> values = step.coded_inputs();
  if (step.has_codes()) values.push_back(step.result());
  std::vector<ops::FakeQuantize> quantizers;
  for (const Value value : values) quantizers.emplace_back(passes::unmoved(value).producer().node());
  return quantizers;
}

std::vector<QuantizedStep> steps_of_all_blocks(Model& model) {
  std::vector<QuantizedStep> all;
  in_each_block(model.graph, [&] { std::ranges::move(passes::quantized_steps(model), std::back_inserter(all)); });
  return all;
}

WidthRules::WidthRules(const Platform& platform, const std::vector<QuantizedStep>& steps) : platform_(platform) {
  for (const QuantizedStep& step : steps) {
    if (!step.weight || passes::scales_channels(step.main) || is_in_region(step.main)) continue;
    if (first_ == nullptr) first_ = &step;
    last_ = &step;
  }
}

std::vector<Diagnostic> WidthRules::objections(const QuantizedStep& step, const WidthOf& bits) const {
  const auto activations = activation_quantizers(step);
  const Op op = layer_of(step);
  Selected selection = selected(op);
  selection.is_first = &step == first_;
  selection.is_last = &step == last_;
  const size_t reads = activations.size() - (step.has_codes() ? 1 : 0);
  for (size_t i = 0; i < reads; ++i) selection.reads.insert(bits(activations[i]));
  if (step.has_codes()) selection.gives = bits(activations.back());
  std::set<int> bit_widths;
  for (const auto& quantizer : activations) bit_widths.insert(bits(quantizer));
  std::vector<Diagnostic> objections;
  for (const int width :
       bit_widths) {  // a wrong weight width is reported once, for any number of activation bit_widths
    for (Diagnostic& one : platform_.objections(selection, step.weight ? bits(step.weight) : 0, width)) {
      one.layer = op.name();
      one.where = op.where();
      one.remedy = one.expected.empty() ? "keep the layer in float (--skip-layers NAME)" : "use one of these (--bits)";
      if (std::ranges::find(objections, one) == objections.end()) objections.push_back(std::move(one));
    }
  }
  return objections;
}

void set_bit_widths(Model& model, const Platform& platform, const BitWidths& bit_widths) {
  const auto steps = steps_of_all_blocks(model);
  const WidthRules rules(platform, steps);
  std::map<std::string, ops::FakeQuantize> changed;
  const auto changes = [&](const ops::FakeQuantize& quantizer) {
    const std::string scale = passes::scale_tensor(quantizer).name();
    if (bit_widths.contains(scale)) changed.emplace(scale, quantizer);
    return bit_widths.contains(scale);
  };
  const auto bits = [&](const ops::FakeQuantize& quantizer) {
    const auto found = bit_widths.find(passes::scale_tensor(quantizer).name());
    return found == bit_widths.end() ? bits_of(quantizer) : found->second;
  };
  std::vector<Diagnostic> objections;
  const passes::QuantizerKinds kinds(model);
  for (const QuantizedStep& step : steps) {
    bool touched = step.weight && changes(step.weight);
    for (const auto& quantizer : activation_quantizers(step)) touched = changes(quantizer) || touched;
    if (!touched) continue;
    for (Diagnostic& one : rules.objections(step, bits)) {
      if (std::ranges::find(objections, one) == objections.end()) objections.push_back(std::move(one));
    }
  }
  for (const auto& [scale, quantizer] : changed) {
    if (kinds.of(quantizer) != QuantizerKind::own) continue;
    const std::string& name = quantizer.x().name();
    objections.push_back(placed(errors::own_quantizer_has_bits(name, kinds.name_of(quantizer)), name, ""));
  }
  fail_on_any(std::move(objections));
  for (const auto& [scale, quantizer] : changed) set_quantizer_bits(model, platform, quantizer, bit_widths.at(scale));
}

}  // namespace halfstep::quant
