// Dependence of the values of a network on samples and on dynamic dimensions.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

struct Dependence {
  bool samples = false;  ///< depends on elements of arguments, or on the number of samples
  bool lengths = false;  ///< depends on a dynamic dimension other than the batch, so numbers change with longer inputs
};

/// Returns by argument the dims of arguments with dynamic axes besides the first, which is the batch. kUnknown marks a
/// dynamic axis.
std::map<std::string, Dims> open_lengths(const Graph& graph);

/// Returns the dependence of every operation result, by name. Values inside a region depend on everything that the
/// operation reads. A boolean result depends on no length, because a mask has the same numbers at every length.
/// `extents` holds the extents of every argument, with which the network must run.
std::map<std::string, Dependence> dependences(const Model& model, const std::map<std::string, Dims>& extents);

}  // namespace halfstep::passes
