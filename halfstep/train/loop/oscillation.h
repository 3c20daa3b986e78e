// Weights that go back and forth between two codes, and what stops them.
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
/// quantization-aware training", ICML 2022). A weight oscillates in a step where its code changes against the direction
/// in which it changed last; one that does so in a larger share of steps than `most`, counted with a decay of 0.99, is
/// frozen at the code that its mean, with the same decay, is nearest to.
class Oscillations {
 public:
  /// Of the weights of `prepared` that are parameters with a quantizer of their own.
  Oscillations(const Model& prepared, double most);

  /// Looks at the weights behind a step, and puts frozen ones back to their codes.
  void after_step(runtime::Program& program);
  int64_t frozen() const;

  /// As tensors WEIGHT.oscillation.*, f32, for a checkpoint.
  void save(std::map<std::string, Tensor>& tensors) const;
  void load(const std::map<std::string, Tensor>& tensors);

 private:
  struct Weight {
    std::string name;
    ops::FakeQuantize quantizer;
    /// Of each element: its code as steps from 0, the sign of its last change, the share of steps that it oscillated
    /// in, its mean code, and 1 where it is frozen.
    Tensor code, change, share, mean, frozen;
  };
  struct Steps {
    std::vector<float> scale, low, high;  ///< by channel; the ends count steps from 0
  };
  Steps steps_of(const Weight& weight, const runtime::Program& program);
  void look(Weight& weight, runtime::Program& program);

  Model model_;                 ///< with the scales of the step
  std::set<std::string> live_;  ///< tensors that the program moves
  double most_;
  bool has_seen_ = false;
  std::vector<Weight> weights_;
};

}  // namespace halfstep::train
