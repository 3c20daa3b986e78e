#include "halfstep/core/ir/metadata/stage.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"

namespace halfstep {

std::string_view name(Stage stage) {
  constexpr std::string_view kNames[] = {"float", "prepared", "integer"};
  return kNames[static_cast<size_t>(stage)];
}

Stage stage_of_graph(const Graph& graph, bool has_platform) {
  if (!graph.all<ops::FakeQuantize>().empty()) return has_platform ? Stage::prepared : Stage::float_network;
  const auto ops = graph.all_ops();
  const bool has_codes = std::ranges::any_of(ops, [](Op op) { return op.is<ops::Quantize, ops::Dequantize>(); });
  return has_codes ? Stage::integer : Stage::float_network;
}

}  // namespace halfstep
