// Records the arguments of branches and loops in a run, so that regions can be run as networks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/verify/equivalence/batch_source.h"

namespace halfstep::verify {

/// One execution of a region.
struct Execution {
  int64_t sample = 0;          ///< first sample of the batch
  std::string path;            ///< "while 'loop', iteration 3: if 'branch'"
  std::vector<int64_t> turns;  ///< iterations of the path, outermost first, -1 for a branch
  Tensors arguments;
};

/// Executions by the operation that contains the region, and the region's number.
struct Executions {
  std::map<std::pair<std::string, size_t>, std::vector<Execution>> by_region;
  int64_t left_out = 0;  ///< number of executions after the limit `most_bytes` was reached
  int64_t end = 0;       ///< samples before the first batch with executions that were left out
};

/// Records all executions of all regions of `model`, `batch` samples at a time.
Executions executions_of(const Model& model, const BatchSource& source, int64_t samples, int64_t batch,
                         size_t most_bytes, ThreadPool& pool);

}  // namespace halfstep::verify
