// Optimizer steps as operations of the graph.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/passes/gradient/autodiff.h"

namespace halfstep::passes {

struct OptimizerSpec {
  enum class Kind { sgd_momentum, adam };
  Kind kind = Kind::sgd_momentum;
  double momentum = 0.9;              ///< used by sgd_momentum
  double beta1 = 0.9, beta2 = 0.999;  ///< used by adam
  double epsilon = 1e-8;              ///< used by adam
  double weight_decay = 0;            ///< applies to parameters with two axes or more, not to biases and scales
  /// Unit of measure by parameter: f32, with the rank of the parameter and its extents or 1 (default 1). The gradient
  /// is multiplied by `unit`, and so is each step of the parameter.
  std::map<std::string, Tensor> unit = {};
  std::map<std::string, double> rate = {};  ///< factor of the learning rate by parameter (default 1)
  std::set<std::string> positive = {};      ///< parameters that no step may take to zero: learned scales
  std::optional<double> clip_norm = {};  ///< upper limit of the norm of all gradients in units, no clipping if absent
};

/// Name of the graph argument, f32[1].
inline constexpr const char* kLearningRate = "learning_rate";

/// Appends an operation PARAM.step for each gradient, in name order, and the argument `learning_rate`. The optimizer
/// keeps its state in tensors of Role::state: PARAM.velocity, or PARAM.moment1, PARAM.moment2, PARAM.beta1_power and
/// PARAM.beta2_power. They start at zero, powers of beta at 1. A unit is a constant tensor PARAM.unit. Returns the norm
/// before clipping (f32[1]) with clip_norm, otherwise null. Throws Error if a name is taken, or if `unit` names a
/// parameter without a gradient.
Value add_optimizer(Model& model, const Gradients& gradients, const OptimizerSpec& spec);

}  // namespace halfstep::passes
