// Detects and freezes weights that oscillate between two codes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// Follows the codes of a prepared network's weights from step to step (Nagel et al., "Overcoming oscillations in
/// quantization-aware training", ICML 2022). A weight oscillates in a step if its code changes in the opposite
/// direction of its last change. The fraction of such steps and the mean code are averaged with a decay of 0.99. A
/// weight whose fraction exceeds `most` is frozen at the code nearest to its mean.
class Oscillations {
 public:
  /// Covers the weights of `prepared` that are parameters with their own quantizer.
  Oscillations(const Model& prepared, double most);

  /// Reads the weights after a step, and resets frozen ones to their codes.
  void after_step(runtime::Program& program);
  int64_t frozen() const;

  /// Saves the state as f32 tensors WEIGHT.oscillation.* for a checkpoint.
  void save(std::map<std::string, Tensor>& tensors) const;
  void load(const std::map<std::string, Tensor>& tensors);

 private:
  struct Weight {
    std::string name;
    ops::FakeQuantize quantizer;
    /// For each element: its code as steps from 0, the sign of its last change, the fraction of steps in which it
    /// oscillated, its mean code, and 1 if it is frozen.
    Tensor code, change, share, mean, frozen;
  };
  struct Steps {
    std::vector<float> scale, low, high;  ///< one per channel, low and high are steps from 0
  };
  Steps steps_of(const Weight& weight, const runtime::Program& program);
  void look(Weight& weight, runtime::Program& program);

  Model model_;                 ///< with the scales of the step
  std::set<std::string> live_;  ///< tensors that the program updates
  double most_;
  bool has_seen_ = false;
  std::vector<Weight> weights_;
};

}  // namespace halfstep::train
