// Interface of a correction method: state in, new state out.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/tune/repair/judge.h"
#include "halfstep/tune/repair/repair.h"

namespace halfstep::repair {

/// A network between two methods.
struct State {
  Model model;  ///< prepared and calibrated
  /// The calibrated network with its original float weights and biases, before any correction or rounding. Methods
  /// make `model` match its float form layer by layer.
  Model reference;
};

/// Inputs that all methods share, except the network.
struct RepairContext {
  const data::Samples& samples;  ///< training part, without the held-out samples
  train::CalibrateOptions calibration;
  train::Spreads spreads;  ///< spreads of the float network's outputs
  const Judge& judge;      ///< on the same samples, for methods that search
  const Options& options;
  ThreadPool& pool;
  const ProgressCallback& progress;
};

/// Result of a method: the new state, or none if the method found nothing to do, and a sentence with numbers.
struct Change {
  std::optional<State> state = {};
  std::string what = {};
};

struct Method {
  MethodInfo info;
  Change (*apply)(const State& state, const RepairContext& context);
};

/// All methods, in the order of method_list().
std::span<const Method> methods();

}  // namespace halfstep::repair
