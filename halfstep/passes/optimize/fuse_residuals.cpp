#include "halfstep/passes/optimize/fuse_residuals.h"

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"

namespace halfstep::passes {
namespace {

/// Returns the layer with `other` as its residual, or nothing if the layer cannot take one.
std::optional<OpSpec> with_residual(Value value, Value other) {
  const Op layer = value.producer();
  if (!layer || !value.has_one_use() || value.type() != other.type()) return std::nullopt;
  OpSpec spec{&layer.info(), layer.operands(), layer.attributes(), {}, layer.location()};
  if (layer.is<ops::FusedConv2d>()) {
    const ops::FusedConv2d conv(layer.node());
    if (conv.layout() != "channels_last" || conv.activation() != "none" || conv.residual()) return std::nullopt;
  } else if (layer.is<ops::Linear>()) {
    spec.info = &ops::LinearActivation::record();
    spec.attributes = {{"activation", std::string("none")}};
    spec.operands.resize(spec.info->inputs.size());
  } else {
    return std::nullopt;
  }
  spec.operands[static_cast<size_t>(spec.info->input("residual"))] = other;
  return spec;
}

void fuse(Graph& graph, ops::Add sum, Op layer, OpSpec spec) {
  spec.name = sum.name();
  replace(graph, sum, graph.insert(std::move(spec), nullptr, sum));
  graph.erase(layer);
}

}  // namespace

void fuse_residuals(Graph& graph) {
  for (const ops::Add sum : graph.all<ops::Add>()) {
    if (auto spec = with_residual(sum.b(), sum.a())) {
      fuse(graph, sum, sum.b().producer(), std::move(*spec));
    } else if (auto first = with_residual(sum.a(), sum.b())) {
      fuse(graph, sum, sum.a().producer(), std::move(*first));
    }
  }
}

}  // namespace halfstep::passes
