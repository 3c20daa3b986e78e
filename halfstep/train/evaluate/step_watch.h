// Runs a network for its observers on the samples of a step, for any batch size of the network.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/runtime/program.h"
#include "halfstep/quant/platform/step_observers.h"

namespace halfstep::train {

/// Keyed by the name of the observer's tensor `low`.
using ObservedSteps = std::map<std::string, quant::ObservedStep>;

/// Samples of a step, as positions in an order.
struct StepSamples {
  const data::Samples& samples;
  const std::vector<int64_t>& order;
  int64_t begin = 0, size = 0;
};

class StepWatch {
 public:
  /// `observing` is the network in calibration form. `at_once` is the number of samples of a run, and `extents` has the
  /// extents of the arguments for so many samples. If the extents are longer than those of the samples, samples are
  /// repeated along the axis. `counts_once` is true for values that depend on no sample.
  StepWatch(const Model& observing, int64_t at_once, std::map<std::string, Dims> extents,
            const std::function<bool(Value)>& counts_once);

  /// Widens the ranges of `seen`.
  void find_extremes(const StepSamples& step, ObservedSteps& seen, ThreadPool& pool);
  /// Adds statistics of the elements within `ranges` for observers that need them. A value that depends on no sample
  /// counts once for each sample of the step.
  void add_sums(const StepSamples& step, const ObservedSteps& ranges, ObservedSteps& seen, ThreadPool& pool);

 private:
  struct Observer {
    std::string low, high, sums;  ///< names of its tensors
  };
  struct Watching {
    explicit Watching(const Model& form);
    void set(const ObservedSteps& ranges);
    void run(const Tensors& inputs, ThreadPool& pool) { program.run(inputs, pool); }
    /// Sums by the observer's `low`. Resets them to 0.
    Tensors take_sums();

    std::vector<Observer> observers;
    runtime::Program program;
  };

  int64_t rest(const StepSamples& step) const { return step.size % at_once_; }
  Tensors inputs(const StepSamples& step, int64_t begin) const;
  /// The last samples of a step, too few for a run, filled up with copies of the last one.
  Tensors last_inputs(const StepSamples& step) const;
  /// Only the last sample, repeated.
  Tensors repeated_inputs(const StepSamples& step) const;
  Tensors placed_inputs(const StepSamples& step, const std::vector<int64_t>& places) const;
  Tensors lengthened(Tensors inputs) const;

  int64_t at_once_;
  std::map<std::string, Dims> extents_;
  Watching extremes_;
  std::optional<Watching> sums_, constants_;  ///< set if an observer needs sums
};

}  // namespace halfstep::train
