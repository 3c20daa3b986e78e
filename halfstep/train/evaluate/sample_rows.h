// What a file of a fixed batch puts beside every sample.
#pragma once

#include <map>
#include <set>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/passes/graph/dependence.h"

namespace halfstep::train {

/// Names of observed values that depend on no sample and yet have a row for each of the `at_once` samples of a run, all
/// rows being the same. A file of a fixed batch stores them or makes them of lengths. Where the batch is open, such
/// values depend on the number of samples.
std::set<std::string> rows_of_samples(const Model& observing, const std::map<std::string, passes::Dependence>& depends,
                                      const Tensors& inputs, int64_t at_once, ThreadPool& pool);

}  // namespace halfstep::train
