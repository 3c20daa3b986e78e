// Measures the distance between a quantized network and its float network on samples.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::repair {

/// Compares outputs with those of a float network on a stored copy of samples.
class Judge {
 public:
  /// The float form of `prepared` is the reference. Distances are in units of `spreads` (train::spreads_of).
  Judge(const Model& prepared, data::Samples samples, train::Spreads spreads, ThreadPool& pool);

  /// `right` is accuracy with labels, otherwise top-1 agreement with the float network. It is absent if the outputs are
  /// not classes. `loss` is the mean squared distance to the float network's outputs, in units of their spread.
  train::ValidationResult operator()(const Model& model) const;

  int64_t samples() const { return samples_.size(); }
  bool has_labels() const { return has_labels_; }

 private:
  Model teacher_;
  data::Samples samples_;
  bool has_labels_;  ///< labels for the outputs
  train::Spreads spreads_;
  ThreadPool& pool_;
};

/// Whether `after` is closer to the float network than `before`, and not significantly less accurate than `first`. The
/// limit is two standard errors of the difference for this number of samples. A few samples are enough to compare
/// distances, but not accuracies.
bool gains(const train::ValidationResult& first, const train::ValidationResult& before,
           const train::ValidationResult& after, int64_t samples);

}  // namespace halfstep::repair
