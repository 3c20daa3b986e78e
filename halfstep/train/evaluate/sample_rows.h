// Values that a network with a fixed batch repeats for every sample.
#pragma once

#include <map>
#include <set>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/passes/graph/dependence.h"

namespace halfstep::train {

/// Names of observed values that depend on no sample, but have identical rows for each of the `at_once` samples of a
/// run. A file with a fixed batch stores such values or computes them from lengths. With a dynamic batch, they depend
/// on the number of samples.
std::set<std::string> rows_of_samples(const Model& observing, const std::map<std::string, passes::Dependence>& depends,
                                      const Tensors& inputs, int64_t at_once, ThreadPool& pool);

}  // namespace halfstep::train
