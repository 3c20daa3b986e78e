// Optimizer steps. Results may share memory with the operands that they are the next state of.
#include <cmath>
#include <memory>

#include "halfstep/kernels/optimizer/rule.h"

namespace halfstep::kernels {
namespace {

Plan prepare_sgd(const Problem& problem) { return {.state = std::make_shared<SgdMomentum>(problem.attributes)}; }

Status run_sgd(const Call& call, int, int64_t) {
  using In = SgdMomentum::in;
  using Out = SgdMomentum::out;
  const SgdStep step(state_of<SgdMomentum>(call), call);
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* velocity = call.in[In::velocity].as<const float>();
  auto* param_out = call.out[Out::param_out].as<float>();
  auto* velocity_out = call.out[Out::velocity_out].as<float>();
  const int64_t size = call.in[In::param].size();
  for (int64_t i = 0; i < size; ++i) {
    const float next = step.momentum * velocity[i] + (grad[i] + step.weight_decay * param[i]);
    velocity_out[i] = next;
    param_out[i] = param[i] - step.learning_rate * next;
  }
  return {};
}

Plan prepare_adam(const Problem& problem) {
  return {.state = std::make_shared<Adam>(problem.attributes), .phases = {1, 1}};
}

Status run_adam(const Call& call, int phase, int64_t) {
  using In = Adam::in;
  using Out = Adam::out;
  const AdamStep step(state_of<Adam>(call), call);
  if (phase == 1) {
    step.write_powers(call);
    return {};
  }
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* moment1 = call.in[In::moment1].as<const float>();
  const auto* moment2 = call.in[In::moment2].as<const float>();
  const int64_t size = call.in[In::param].size();
  for (int64_t i = 0; i < size; ++i) {
    const float first = step.beta1 * moment1[i] + step.rest1 * grad[i];
    const float second = step.beta2 * moment2[i] + step.rest2 * grad[i] * grad[i];
    const float direction = first / step.correction1 / (std::sqrt(second / step.correction2) + step.epsilon);
    call.out[Out::param_out].as<float>()[i] =
        param[i] - step.learning_rate * (direction + step.weight_decay * param[i]);
    call.out[Out::moment1_out].as<float>()[i] = first;
    call.out[Out::moment2_out].as<float>()[i] = second;
  }
  return {};
}

}  // namespace

extern const Kernel reference_sgd_momentum{"reference", accept_all, prepare_sgd, run_sgd};
extern const Kernel reference_adam{"reference", accept_all, prepare_adam, run_adam};

}  // namespace halfstep::kernels
