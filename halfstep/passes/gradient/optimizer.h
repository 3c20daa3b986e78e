// The step of an optimizer, as operations of the graph.
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
  double momentum = 0.9;              ///< sgd_momentum
  double beta1 = 0.9, beta2 = 0.999;  ///< adam
  double epsilon = 1e-8;              ///< adam
  double weight_decay = 0;            ///< of parameters with two axes or more: biases and scales have none
  /// By parameter, f32 of its rank and extents or 1: the unit that it is counted in. In units a gradient is `unit`
  /// times what it is, and a step moves the parameter by `unit` times what it asks for. Those not named have 1.
  std::map<std::string, Tensor> unit = {};
  std::map<std::string, double> rate = {};  ///< by parameter: how many times the learning rate it moves at; 1 of others
  std::set<std::string> positive = {};      ///< parameters that no step takes to zero: learned scales
  std::optional<double> clip_norm = {};  ///< the most that the norm of all gradients in units counts; none: no clipping
};

/// Name of the graph argument, f32[1].
inline constexpr const char* kLearningRate = "learning_rate";

/// Appends an operation PARAM.step for each gradient, in name order, and the argument `learning_rate`. What the
/// optimizer keeps are tensors of Role::state, zero but for the powers of beta, which start at 1: PARAM.velocity, or
/// PARAM.moment1, PARAM.moment2, PARAM.beta1_power and PARAM.beta2_power. A unit is a constant tensor PARAM.unit. With
/// clip_norm returns the norm before clipping, f32[1], else null. Throws Error where a name is taken, or `unit` names
/// no parameter that has a gradient.
Value add_optimizer(Model& model, const Gradients& gradients, const OptimizerSpec& spec);

}  // namespace halfstep::passes
