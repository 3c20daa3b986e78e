#include "halfstep/passes/optimizer.h"

#include "halfstep/ir/ops.h"
#include "halfstep/passes/tensors.h"

namespace halfstep::passes {
namespace {

class Steps {
 public:
  Steps(Model& model, const OptimizerSpec& spec)
      : model_(model),
        spec_(spec),
        builder_(model.graph),
        learning_rate_(add_argument(model.graph, kLearningRate, {DType::f32, {1}})) {}

  void add(Value param, Value grad) {
    builder_.at(grad.producer() ? grad.producer().location() : Location());
    const double weight_decay = param.dims().size() >= 2 ? spec_.weight_decay : 0.0;
    grad = factored(param, grad);
    const std::string name = param.name() + ".step";
    switch (spec_.kind) {
      case OptimizerSpec::Kind::sgd_momentum:
        ops::sgd_momentum(builder_, {.param = param,
                                     .grad = grad,
                                     .velocity = state(param, "velocity", param.dims(), 0),
                                     .learning_rate = learning_rate_,
                                     .momentum = spec_.momentum,
                                     .weight_decay = weight_decay,
                                     .name = name});
        return;
      case OptimizerSpec::Kind::adam:
        ops::adam(builder_, {.param = param,
                             .grad = grad,
                             .moment1 = state(param, "moment1", param.dims(), 0),
                             .moment2 = state(param, "moment2", param.dims(), 0),
                             .beta1_power = state(param, "beta1_power", {1}, 1),
                             .beta2_power = state(param, "beta2_power", {1}, 1),
                             .learning_rate = learning_rate_,
                             .beta1 = spec_.beta1,
                             .beta2 = spec_.beta2,
                             .epsilon = spec_.epsilon,
                             .weight_decay = weight_decay,
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

  Value factored(Value param, Value grad) {
    const auto found = spec_.gradient_factor.find(param.name());
    if (found == spec_.gradient_factor.end()) return grad;
    const Value factor = add_tensor(model_, param.name() + ".gradient_factor", found->second, Role::constant);
    return ops::mul(builder_, {.a = grad, .b = factor, .name = param.name() + ".factored"}).out();
  }

  Model& model_;
  const OptimizerSpec& spec_;
  Builder builder_;
  Value learning_rate_;
};

}  // namespace

void add_optimizer(Model& model, const Gradients& gradients, const OptimizerSpec& spec) {
  for (const auto& [name, factor] : spec.gradient_factor) {
    if (!gradients.of.contains(name)) fail("gradient_factor: parameter '{}' has no gradient", name);
  }
  Steps steps(model, spec);
  for (const auto& [name, grad] : gradients.of) steps.add(model.graph.tensor(name), grad);
}

}  // namespace halfstep::passes
