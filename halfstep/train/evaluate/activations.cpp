#include "halfstep/train/evaluate/activations.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/train/evaluate/errors.h"

namespace halfstep::train {
namespace {

/// The result of the next quantizer, if the layer's result has only one path to it. The layer's own result if that path
/// has no quantizer. Null if the path branches first.
Value quantized_result(Op layer) {
  for (Value value = layer.out(0);;) {
    const auto uses = value.uses();
    const auto quantizer =
        std::ranges::find_if(uses, [](const auto& use) { return use.first.info().quant.trait == Trait::quantizer; });
    if (quantizer != uses.end()) return quantizer->first.out(0);
    if (uses.empty()) return layer.out(0);
    if (uses.size() > 1 || uses[0].first.results().empty()) return {};
    value = uses[0].first.out(0);
  }
}

bool fits_any(const quant::LayerNames& names, const std::vector<std::string>& patterns, Op op,
              std::vector<bool>& used) {
  bool any = false;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!names.fits(patterns[i], op)) continue;
    used[i] = any = true;
  }
  return any;
}

}  // namespace

Wide with_activations(const Model& model, const std::vector<std::string>& patterns) {
  Wide wide{clone(model), {}};
  if (patterns.empty()) return wide;
  const quant::LayerNames layers(wide.model);
  std::vector<Value> outputs = wide.model.graph.outputs();
  std::vector<std::string> names = wide.model.graph.body().output_names();
  std::vector<bool> used(patterns.size(), false);
  std::vector<Op> known;
  for (const Op op : wide.model.graph.ops()) {
    if (op.info().quant.trait == Trait::quantizer || op.results().empty() || !op.out(0) ||
        op.out(0).dtype() != DType::f32)
      continue;
    known.push_back(op);
    if (!fits_any(layers, patterns, op, used)) continue;
    const Value activation = quantized_result(op);
    if (!activation) fail(errors::activation_without_quantizer(op.where()));
    const auto known_output = std::ranges::find(outputs, activation);
    const auto index = static_cast<size_t>(known_output - outputs.begin());
    if (known_output == outputs.end()) {
      outputs.push_back(activation);
      names.push_back(activation.name() + ".activation");
    }
    wide.activations.insert(names[index]);
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i])
      fail(errors::selector_matches_nothing("activations", patterns[i], quant::known_layers(patterns[i], known)));
  }
  wide.model.graph.set_outputs(std::move(outputs), std::move(names));
  return wide;
}

DistillationTargets distillation_targets(Spreads spreads, const Wide& wide, const Model& model, bool learns_outputs) {
  DistillationTargets targets;
  const std::vector<std::string> own = model.graph.body().output_names();
  for (const std::string& name : wide.activations) {
    if (learns_outputs && std::ranges::find(own, name) != own.end()) continue;
    if (auto found = spreads.extract(name)) targets.activations.insert(std::move(found));
  }
  if (learns_outputs) targets.outputs = std::move(spreads);
  return targets;
}

}  // namespace halfstep::train
