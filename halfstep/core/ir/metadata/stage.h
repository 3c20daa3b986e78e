// Stage of a network.
#pragma once

#include <string_view>

namespace halfstep {

class Graph;

/// Before quantization, after quantize, after convert.
enum class Stage { float_network, prepared, integer };

/// Returns "float", "prepared" or "integer".
std::string_view name(Stage stage);

/// Derives the stage of a graph without metadata from its operators. A prepared network also has a platform.
Stage stage_of_graph(const Graph& graph, bool has_platform);

}  // namespace halfstep
