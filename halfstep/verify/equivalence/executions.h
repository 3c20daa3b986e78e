// What a network gives to its branches and loops, to look at these as networks of their own.
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

/// A region as it is once entered.
struct Execution {
  int64_t sample = 0;          ///< the first one of the batch
  std::string path;            ///< "while 'loop', iteration 3: if 'branch'"
  std::vector<int64_t> turns;  ///< the same as numbers, outermost first; -1 of a branch
  Tensors arguments;
};

/// By the operation that holds the region, and which of its regions it is.
struct Executions {
  std::map<std::pair<std::string, size_t>, std::vector<Execution>> by_region;
  int64_t left_out = 0;  ///< that came when `most_bytes` were there
  int64_t end = 0;       ///< samples in front of the batch from which on some were left out
};

/// All that happens in all regions of `model`, `batch` samples at a time.
Executions executions_of(const Model& model, const BatchSource& source, int64_t samples, int64_t batch,
                         size_t most_bytes, ThreadPool& pool);

}  // namespace halfstep::verify
