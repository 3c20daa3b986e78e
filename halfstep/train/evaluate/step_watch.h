// A network that runs for its observers: the samples of a step, however many of them it takes at once.
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

/// By the name of the observer's tensor `low`.
using ObservedSteps = std::map<std::string, quant::ObservedStep>;

/// Samples of a step, as places of an order.
struct StepSamples {
  const data::Samples& samples;
  const std::vector<int64_t>& order;
  int64_t begin = 0, size = 0;
};

class StepWatch {
 public:
  /// `observing`: the network in calibration form. `at_once`: samples of a run. `extents`: of its arguments for so
  /// many; where they are longer than those of the samples, these begin again behind their end. `counts_once`: values
  /// that depend on no sample.
  StepWatch(const Model& observing, int64_t at_once, std::map<std::string, Dims> extents,
            const std::function<bool(Value)>& counts_once);

  /// Widens the ranges of `seen`.
  void find_extremes(const StepSamples& step, ObservedSteps& seen, ThreadPool& pool);
  /// Adds up what elements within `ranges` are, for observers that need it. A value that depends on no sample counts as
  /// often as the step has samples.
  void add_sums(const StepSamples& step, const ObservedSteps& ranges, ObservedSteps& seen, ThreadPool& pool);

 private:
  struct Observer {
    std::string low, high, sums;  ///< its tensors
  };
  struct Watching {
    explicit Watching(const Model& form);
    void set(const ObservedSteps& ranges);
    void run(const Tensors& inputs, ThreadPool& pool) { program.run(inputs, pool); }
    /// By the observer's `low`; they begin at 0 again.
    Tensors take_sums();

    std::vector<Observer> observers;
    runtime::Program program;
  };

  int64_t rest(const StepSamples& step) const { return step.size % at_once_; }
  Tensors inputs(const StepSamples& step, int64_t begin) const;
  /// The last samples of a step, which are too few for a run: the last one again and again behind them.
  Tensors last_inputs(const StepSamples& step) const;
  /// Nothing but the last sample.
  Tensors repeated_inputs(const StepSamples& step) const;
  Tensors placed_inputs(const StepSamples& step, const std::vector<int64_t>& places) const;
  Tensors lengthened(Tensors inputs) const;

  int64_t at_once_;
  std::map<std::string, Dims> extents_;
  Watching extremes_;
  std::optional<Watching> sums_, constants_;  ///< where an observer adds up something
};

}  // namespace halfstep::train
