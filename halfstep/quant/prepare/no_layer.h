// Reports a network in which no layer has quantized weights: the reason for each candidate, and remedies.
#pragma once

#include <string>
#include <vector>

#include "halfstep/quant/prepare/code_plan.h"

namespace halfstep::quant {

/// An operator that multiplies, and the reason why its weights have no codes.
struct LayerInFloat {
  std::string op;    ///< name of the operator
  std::string name;  ///< name of the operation
  std::string where;
  Location location;
  std::string reason;
};

/// The candidates of the graph's body, or of the region in its place.
std::vector<LayerInFloat> layers_in_float(const Graph& graph, const CodePlan& plan);

/// Throws an Error that lists all candidates. `given` is the source model. An operation that a rewrite created is named
/// after the operation of `given` at the same location.
[[noreturn]] void refuse_without_layer(const Graph& given, const std::vector<LayerInFloat>& layers);

}  // namespace halfstep::quant
