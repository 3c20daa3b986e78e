// A network without a layer whose weights become codes: why each candidate has none, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "halfstep/quant/prepare/code_plan.h"

namespace halfstep::quant {

/// An operator that multiplies, and why its weights do not become codes.
struct LayerInFloat {
  std::string op;    ///< the operator
  std::string name;  ///< the operation
  std::string where;
  Location location;
  std::string reason;
};

/// Those of the graph's body, or of the region in its place.
std::vector<LayerInFloat> layers_in_float(const Graph& graph, const CodePlan& plan);

/// Throws a Error of all of them. `given` is the network as it came: an operation that a rewrite made is called as
/// the one in `given` at its place.
[[noreturn]] void refuse_without_layer(const Graph& given, const std::vector<LayerInFloat>& layers);

}  // namespace halfstep::quant
