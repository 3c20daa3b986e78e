#include "halfstep/passes/fuse_residuals.h"

#include "halfstep/ir/ops.h"

namespace halfstep::passes {
namespace {

/// The convolution that can take in what is added to its result; nothing when there is none.
std::optional<ops::FusedConv2d> open_layer(Value value, Value other) {
  const auto layer = value.producer<ops::FusedConv2d>();
  if (!layer || !value.has_one_use() || value.type() != other.type()) return std::nullopt;
  const bool is_open = layer->layout() == "channels_last" && layer->activation() == "none" && !layer->residual();
  return is_open ? layer : std::nullopt;
}

void fuse(Graph& graph, ops::Add sum, ops::FusedConv2d layer, Value residual) {
  std::vector<Value> operands = layer.operands();
  operands[static_cast<size_t>(layer.info().input("residual"))] = residual;
  const std::string name = sum.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
  const Op made =
      graph.insert({&layer.info(), std::move(operands), layer.attributes(), name, layer.location()}, nullptr, sum);
  sum.out().replace_all_uses_with(made.out(0));
  graph.erase(sum);
  graph.erase(layer);
  graph.rename(made, name);
}

}  // namespace

void fuse_residuals(Graph& graph) {
  for (const ops::Add sum : graph.all<ops::Add>()) {
    if (const auto layer = open_layer(sum.b(), sum.a())) {
      fuse(graph, sum, *layer, sum.a());
    } else if (const auto first = open_layer(sum.a(), sum.b())) {
      fuse(graph, sum, *first, sum.b());
    }
  }
}

}  // namespace halfstep::passes
