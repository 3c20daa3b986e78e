// What an engine gave of layers in branches and loops, cut into the times that a run came to them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Elements of a layer over all times that it ran for a batch.
struct Counts {
  int64_t program = 0, engine = 0;
};

class Recording {
 public:
  /// Of the batch from `sample` on: the codes of each layer, each time that it ran, one behind the other.
  void add(int64_t sample, Tensors codes) { batches_[sample] = std::move(codes); }

  /// The next codes of a layer, as many as `like` has and with its extents; none where the engine ran it no further,
  /// does not show it, or nothing was added for the batch.
  std::optional<Tensor> next(int64_t sample, const std::string& layer, const Tensor& like);

  /// The first of the batches that were added for which the engine did not run the layer as often as `next` was asked:
  /// the sample that it begins with, and how many elements were made.
  std::optional<std::pair<int64_t, Counts>> first_mismatch(const std::string& layer) const;

 private:
  std::map<int64_t, Tensors> batches_;
  std::map<std::pair<std::string, int64_t>, int64_t> asked_;  ///< elements, by layer and batch
};

}  // namespace halfstep::verify
