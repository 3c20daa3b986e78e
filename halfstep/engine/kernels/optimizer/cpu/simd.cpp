// Optimizer steps on vectors, bit-identical to the reference. Operations keep its order, and none of them are fused.
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/optimizer/rule.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/optimizer/cpu/simd.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#ifndef HALFSTEP_KERNELS_OPTIMIZER_SIMD
#define HALFSTEP_KERNELS_OPTIMIZER_SIMD
namespace halfstep::kernels::optimizer {

/// Elements [begin, end) of a parameter.
struct Elements {
  int64_t begin, end;
};

}  // namespace halfstep::kernels::optimizer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::optimizer::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;

/// Calls body(tag, index) for whole vectors, then for the remaining elements one at a time.
template <class Body>
void for_each_vector(Elements elements, Body&& body) {
  const Float d;
  const int64_t lanes = hn::Lanes(d);
  int64_t i = elements.begin;
  for (; i + lanes <= elements.end; i += lanes) body(d, i);
  for (; i < elements.end; ++i) body(hn::CappedTag<float, 1>(), i);
}

/// clamped_positive by lane, or `next` if the parameter is not positive.
template <class D>
hn::Vec<D> clamped(D d, bool positive, hn::Vec<D> param, hn::Vec<D> next) {
  if (!positive) return next;
  const auto half = hn::Mul(hn::Set(d, 0.5F), param), twice = hn::Mul(hn::Set(d, 2.0F), param);
  const auto least = hn::Set(d, kLeastPositive);
  next = hn::IfThenElse(hn::Lt(next, half), half, next);
  next = hn::IfThenElse(hn::Gt(next, twice), twice, next);
  return hn::IfThenElse(hn::Lt(next, least), least, next);
}

void sgd(const SgdStep& step, const Call& call, Elements elements) {
  using In = SgdMomentum::in;
  using Out = SgdMomentum::out;
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* velocity = call.in[In::velocity].as<const float>();
  auto* param_out = call.out[Out::param_out].as<float>();
  auto* velocity_out = call.out[Out::velocity_out].as<float>();
  for_each_vector(elements, [&](auto d, int64_t i) {
    const auto p = hn::LoadU(d, param + i);
    const auto clipped = hn::Mul(hn::Set(d, step.clip), hn::LoadU(d, grad + i));
    const auto decayed = hn::Add(clipped, hn::Mul(hn::Set(d, step.weight_decay), p));
    const auto next = hn::Add(hn::Mul(hn::Set(d, step.momentum), hn::LoadU(d, velocity + i)), decayed);
    hn::StoreU(next, d, velocity_out + i);
    const auto moved = hn::Sub(p, hn::Mul(hn::Set(d, step.learning_rate), next));
    hn::StoreU(clamped(d, step.positive, p, moved), d, param_out + i);
  });
}

void adam(const AdamStep& step, const Call& call, Elements elements) {
  using In = Adam::in;
  using Out = Adam::out;
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* moment1 = call.in[In::moment1].as<const float>();
  const auto* moment2 = call.in[In::moment2].as<const float>();
  auto* param_out = call.out[Out::param_out].as<float>();
  auto* moment1_out = call.out[Out::moment1_out].as<float>();
  auto* moment2_out = call.out[Out::moment2_out].as<float>();
  for_each_vector(elements, [&](auto d, int64_t i) {
    const auto p = hn::LoadU(d, param + i), g = hn::Mul(hn::Set(d, step.clip), hn::LoadU(d, grad + i));
    const auto first =
        hn::Add(hn::Mul(hn::Set(d, step.beta1), hn::LoadU(d, moment1 + i)), hn::Mul(hn::Set(d, step.rest1), g));
    const auto second = hn::Add(hn::Mul(hn::Set(d, step.beta2), hn::LoadU(d, moment2 + i)),
                                hn::Mul(hn::Mul(hn::Set(d, step.rest2), g), g));
    const auto root = hn::Sqrt(hn::Div(second, hn::Set(d, step.correction2)));
    const auto direction =
        hn::Div(hn::Div(first, hn::Set(d, step.correction1)), hn::Add(root, hn::Set(d, step.epsilon)));
    const auto change = hn::Add(direction, hn::Mul(hn::Set(d, step.weight_decay), p));
    const auto moved = hn::Sub(p, hn::Mul(hn::Set(d, step.learning_rate), change));
    hn::StoreU(clamped(d, step.positive, p, moved), d, param_out + i);
    hn::StoreU(first, d, moment1_out + i);
    hn::StoreU(second, d, moment2_out + i);
  });
}

}  // namespace halfstep::kernels::optimizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace optimizer {
namespace {

template <class Typed, class Function>
struct State {
  Typed attributes;
  Function function;
  int64_t size;
  Elements elements(int64_t piece) const {
    return {piece * kPieceElements, std::min(size, (piece + 1) * kPieceElements)};
  }
};
using SgdState = State<SgdMomentum, decltype(&N_AVX2::sgd)>;
using AdamState = State<Adam, decltype(&N_AVX2::adam)>;

Plan prepare_sgd(const Problem& problem) {
  const int64_t size = count_elements(problem.in[SgdMomentum::in::param]->dims);
  return {
      .state = std::make_shared<SgdState>(SgdMomentum(problem.attributes), HS_SIMD_CHOOSE(problem.level, sgd), size),
      .phases = {pieces_of(size)}};
}

Status run_sgd(const Call& call, int, int64_t piece) {
  const auto& state = state_of<SgdState>(call);
  state.function(SgdStep(state.attributes, call), call, state.elements(piece));
  return {};
}

Plan prepare_adam(const Problem& problem) {
  const int64_t size = count_elements(problem.in[Adam::in::param]->dims);
  return {.state = std::make_shared<AdamState>(Adam(problem.attributes), HS_SIMD_CHOOSE(problem.level, adam), size),
          .phases = {pieces_of(size), 1}};
}

Status run_adam(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<AdamState>(call);
  const AdamStep step(state.attributes, call);
  if (phase == 0) {
    state.function(step, call, state.elements(piece));
  } else {
    step.write_powers(call);
  }
  return {};
}

}  // namespace
}  // namespace optimizer

extern const Kernel cpu_sgd_momentum_simd{"simd", accept_simd, optimizer::prepare_sgd, optimizer::run_sgd};
extern const Kernel cpu_adam_simd{"simd", accept_simd, optimizer::prepare_adam, optimizer::run_adam};

}  // namespace halfstep::kernels
#endif
