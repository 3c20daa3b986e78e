// How far a quantized network is from its float form on some samples.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::repair {

/// Compares outputs with those of a float network, on samples that it keeps a copy of.
class Judge {
 public:
  /// `prepared`: its float form is the measure. Distances are in `spreads` (train::spreads_of).
  Judge(const Model& prepared, data::Samples samples, train::Spreads spreads, ThreadPool& pool);

  /// `right`: the share of samples whose label is the largest output; without labels whose largest output is that of
  /// the float network; absent where outputs are no classes. `loss`: the distance to the float network's outputs, the
  /// mean of squares in units of their spread.
  train::Standing operator()(const Model& model) const;

  int64_t samples() const { return samples_.size(); }
  bool has_labels() const { return has_labels_; }

 private:
  Model teacher_;
  data::Samples samples_;
  bool has_labels_;  ///< that the outputs answer
  train::Spreads spreads_;
  ThreadPool& pool_;
};

/// Whether `after` is nearer to the float network than `before`, and no less right than `first` by more than two
/// standard errors of such a difference on so many samples: which of two networks is nearer a few samples tell, which
/// is more often right they do not.
bool gains(const train::Standing& first, const train::Standing& before, const train::Standing& after, int64_t samples);

}  // namespace halfstep::repair
