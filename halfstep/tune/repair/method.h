// What a way to repair a quantized network is: it takes a state of the network and gives another.
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

/// A network on its way.
struct State {
  Model model;  ///< prepared
  /// The same network, calibrated, with the weights and biases that it has in float: before any of them was corrected
  /// or rounded. Its float form is what `model` should be like, layer by layer.
  Model reference;
};

/// What methods share: everything but the network.
struct Scene {
  const data::Samples& samples;  ///< to learn from; those held back are none of them
  train::CalibrateOptions calibration;
  train::Spreads spreads;  ///< of the network's outputs in float
  const Judge& judge;      ///< on the same samples, for methods that search
  const Options& options;
  ThreadPool& pool;
  const ProgressCallback& progress;
};

/// What a method did: the new state, or none where there is nothing that it could do, and a sentence with numbers.
struct Change {
  std::optional<State> state = {};
  std::string what = {};
};

struct Method {
  MethodInfo info;
  Change (*apply)(const State& state, const Scene& scene);
};

/// The table: in the order of method_list().
std::span<const Method> methods();

}  // namespace halfstep::repair
