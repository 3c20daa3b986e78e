#include "halfstep/passes/optimize/fuse_activations.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"

namespace halfstep::passes {
namespace {

/// Returns nullptr for an operation without a fused form.
const OpInfo* fused_form(Op layer) {
  if (layer.is<ops::Conv2d>()) return &ops::FusedConv2d::record();
  if (layer.is<ops::Linear>()) return &ops::LinearActivation::record();
  const bool is_open = layer.is<ops::FusedConv2d, ops::LinearActivation>() &&
                       get<std::string>(layer.attributes(), "activation") == "none";
  return is_open ? &layer.info() : nullptr;
}

/// Returns the activation as attributes of a layer, or nothing for other operations.
std::optional<Attributes> as_attributes(Op activation) {
  const QuantInfo& quant = activation.info().quant;
  if (quant.trait != Trait::fuses_into_producer) return std::nullopt;
  Attributes attributes = activation.attributes();
  attributes.insert_or_assign("activation", quant.activation);
  return attributes;
}

/// Returns GELU or SiLU as attributes of a layer, which layers compute as precisely as the operators.
std::optional<Attributes> curve_as_attributes(Op curve) {
  const bool is_gelu = curve.is<ops::Gelu>() && !ops::Gelu(curve.node()).approximate();
  if (!is_gelu && !curve.is<ops::Silu>()) return std::nullopt;
  return Attributes{{"activation", std::string(is_gelu ? "gelu" : "silu")}};
}

bool knows(const OpInfo& fused, const std::string& activation) {
  const std::vector<std::string>& choices = fused.attribute("activation")->choices;
  return std::ranges::find(choices, activation) != choices.end();
}

/// Returns the fused form of the activation and the layer before it, or nothing if they stay separate.
std::optional<OpSpec> fused(Op activation, const std::optional<Attributes>& added) {
  if (!added) return std::nullopt;
  const Op layer = activation.in(0).producer();
  const OpInfo* form = layer && activation.in(0).has_one_use() ? fused_form(layer) : nullptr;
  if (form == nullptr || !knows(*form, get<std::string>(*added, "activation"))) return std::nullopt;
  Attributes attributes = layer.attributes();
  for (const auto& [name, value] : *added) attributes.insert_or_assign(name, value);
  std::vector<Value> operands = layer.operands();
  operands.resize(form->inputs.size());
  return OpSpec{form, std::move(operands), std::move(attributes), activation.name(), layer.location()};
}

void fuse_all(Graph& graph, std::optional<Attributes> (*attributes)(Op)) {
  for (const Op activation : graph.ops()) {
    std::optional<OpSpec> spec = fused(activation, attributes(activation));
    if (!spec) continue;
    const Op layer = activation.in(0).producer();
    replace(graph, activation, graph.insert(std::move(*spec), nullptr, activation));
    graph.erase(layer);
  }
}

}  // namespace

void fuse_activations(Graph& graph) { fuse_all(graph, as_attributes); }
void fuse_curves(Graph& graph) { fuse_all(graph, curve_as_attributes); }

}  // namespace halfstep::passes
