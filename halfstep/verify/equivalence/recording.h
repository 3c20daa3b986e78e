// Splits an engine's results for layers in branches and loops into single executions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Number of elements of a layer over all its executions for a batch.
struct Counts {
  int64_t program = 0, engine = 0;
};

class Recording {
 public:
  /// Adds the batch from `sample` on: for each layer, the concatenated codes of all its executions.
  void add(int64_t sample, Tensors codes) { batches_[sample] = std::move(codes); }

  /// The next codes of a layer, with the size and shape of `like`. Nothing if the engine did not execute the layer
  /// again, does not return its codes, or if the batch was not added.
  std::optional<Tensor> next(int64_t sample, const std::string& layer, const Tensor& like);

  /// The first added batch in which the engine's number of executions of the layer differs from the number of calls of
  /// `next`. Returns its first sample and the element counts.
  std::optional<std::pair<int64_t, Counts>> first_mismatch(const std::string& layer) const;

 private:
  std::map<int64_t, Tensors> batches_;
  std::map<std::pair<std::string, int64_t>, int64_t> asked_;  ///< elements, by layer and batch
};

}  // namespace halfstep::verify
