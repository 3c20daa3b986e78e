#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

Tensors Network::batch_at(int64_t begin, int64_t count) const {
  if (samples == 0) return inputs;
  Tensors part;
  for (const auto& [name, tensor] : inputs) part.emplace(name, tensor.rows(begin, begin + count));
  return part;
}

std::string title_of(const formats::onnx::proto::Node& node) {
  return node.domain().empty() ? node.op_type() : node.domain() + " " + node.op_type();
}

std::set<std::string> operators_of(const formats::onnx::proto::Graph& graph) {
  std::set<std::string> found;
  for (const auto& node : graph.node()) {
    found.insert(title_of(node));
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) found.merge(operators_of(attribute.g()));
    }
  }
  return found;
}

}  // namespace halfstep::fuzz
