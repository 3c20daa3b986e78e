#include "halfstep/passes/gradient/optimizer.h"

#include <fmt/format.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/errors.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

class Steps {
 public:
  Steps(Model& model, const OptimizerSpec& spec)
      : model_(model),
        spec_(spec),
        builder_(model.graph),
        learning_rate_(add_argument(model.graph, kLearningRate, {DType::f32, {1}})) {}

  /// Returns the gradient in the parameter's unit, and declares the unit.
  Value measured(Value param, Value grad) {
    const auto found = spec_.unit.find(param.name());
    if (found == spec_.unit.end()) return grad;
    units_[param.name()] = add_tensor(model_, param.name() + ".unit", found->second, Role::constant);
    return in_units(param, grad, "measured");
  }

  /// Computes the norm of all gradients in units. All later steps are clipped by it.
  Value clip(std::vector<Value> gradients) {
    const auto norm =
        ops::vector_norm(builder_, {.x = std::move(gradients), .bound = *spec_.clip_norm, .name = "norm"});
    clip_ = norm.clip();
    return norm.norm();
  }

  void add(Value param, Value grad) {
    builder_.at(grad.producer() ? grad.producer().location() : Location());
    const double weight_decay = param.dims().size() >= 2 ? spec_.weight_decay : 0.0;
    const bool positive = spec_.positive.contains(param.name());
    if (units_.contains(param.name())) grad = in_units(param, grad, "factored");
    const Value rate = rate_of(param.name());
    const std::string name = param.name() + ".step";
    switch (spec_.kind) {
      case OptimizerSpec::Kind::sgd_momentum:
        ops::sgd_momentum(builder_, {.param = param,
                                     .grad = grad,
                                     .velocity = state(param, "velocity", param.dims(), 0),
                                     .learning_rate = rate,
                                     .clip = clip_,
                                     .momentum = spec_.momentum,
                                     .weight_decay = weight_decay,
                                     .positive = positive,
                                     .name = name});
        return;
      case OptimizerSpec::Kind::adam:
        ops::adam(builder_, {.param = param,
                             .grad = grad,
                             .moment1 = state(param, "moment1", param.dims(), 0),
                             .moment2 = state(param, "moment2", param.dims(), 0),
                             .beta1_power = state(param, "beta1_power", {1}, 1),
                             .beta2_power = state(param, "beta2_power", {1}, 1),
                             .learning_rate = rate,
                             .clip = clip_,
                             .beta1 = spec_.beta1,
                             .beta2 = spec_.beta2,
                             .epsilon = spec_.epsilon,
                             .weight_decay = weight_decay,
                             .positive = positive,
                             .name = name});
        return;
    }
  }

 private:
  Value state(Value param, std::string_view what, const Dims& dims, float fill) {
    Tensor contents(DType::f32, dims);
    for (float& element : contents.data<float>()) element = fill;
    return add_tensor(model_, fmt::format("{}.{}", param.name(), what), std::move(contents), Role::state);
  }

  /// Returns the learning rate times the parameter's factor. Each factor is computed once.
  Value rate_of(const std::string& param) {
    const auto found = spec_.rate.find(param);
    if (found == spec_.rate.end() || found->second == 1) return learning_rate_;
    Value& rate = rates_[found->second];
    if (rate) return rate;
    const std::string name = fmt::format("{}.times_{}", kLearningRate, rates_.size());
    const Value factor =
        add_tensor(model_, name + ".factor", Tensor::scalar(static_cast<float>(found->second)), Role::constant);
    rate = ops::mul(builder_, {.a = learning_rate_, .b = factor, .name = name}).out();
    return rate;
  }

  Value in_units(Value param, Value grad, std::string_view what) {
    const std::string name = fmt::format("{}.{}", param.name(), what);
    return ops::mul(builder_, {.a = grad, .b = units_.at(param.name()), .name = name}).out();
  }

  Model& model_;
  const OptimizerSpec& spec_;
  Builder builder_;
  Value learning_rate_, clip_;
  std::map<std::string, Value> units_;  ///< by parameter
  std::map<double, Value> rates_;       ///< by factor
};

}  // namespace

Value add_optimizer(Model& model, const Gradients& gradients, const OptimizerSpec& spec) {
  for (const auto& [name, unit] : spec.unit) {
    if (!gradients.of.contains(name)) fail(errors::unit_without_gradient(name));
  }
  Steps steps(model, spec);
  std::map<std::string, Value> measured;
  for (const auto& [name, grad] : gradients.of) measured[name] = steps.measured(model.graph.tensor(name), grad);
  Value norm;
  if (spec.clip_norm) {
    std::vector<Value> all;
    for (const auto& [name, grad] : measured) all.push_back(grad);
    norm = steps.clip(std::move(all));
  }
  for (const auto& [name, grad] : measured) steps.add(model.graph.tensor(name), grad);
  return norm;
}

}  // namespace halfstep::passes
