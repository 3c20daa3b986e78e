// What has been done to a network.
#pragma once

#include <string_view>

namespace halfstep {

class Graph;

/// Nothing, quantize, convert.
enum class Stage { float_network, prepared, integer };

/// "float", "prepared", "integer".
std::string_view name(Stage stage);

/// The stage of a graph that comes without metadata, by its operators; a prepared network has a platform beside it.
Stage stage_of_graph(const Graph& graph, bool has_platform);

}  // namespace halfstep
