// The rules of the optimizers. Every operation is rounded to float32. The reference applies them to one element, the
// fast kernel to vectors.
#pragma once

#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// Factor of the gradients. It is 1 without the operand.
inline float clip_of(const ConstView& clip) { return clip.present() ? clip.as<const float>()[0] : 1.0F; }

/// The least positive parameter. It equals the least scale of a range (docs/arithmetic.md, section 3).
inline constexpr float kLeastPositive = 0x1p-23F;

/// A positive parameter after a step that moved it to `next`. NaN stays NaN.
inline float clamped_positive(float param, float next) {
  const float half = 0.5F * param, twice = 2.0F * param;
  next = next < half ? half : next;
  next = next > twice ? twice : next;
  return next < kLeastPositive ? kLeastPositive : next;
}

/// Numbers that the elements of an SGD step share.
struct SgdStep {
  float clip, momentum, weight_decay, learning_rate;
  bool positive;

  SgdStep(const SgdMomentum& a, const Call& call)
      : clip(clip_of(call.in[SgdMomentum::in::clip])),
        momentum(static_cast<float>(a.momentum)),
        weight_decay(static_cast<float>(a.weight_decay)),
        learning_rate(call.in[SgdMomentum::in::learning_rate].as<const float>()[0]),
        positive(a.positive) {}
};

/// Numbers that the elements of an Adam step share. The corrections are 1 - beta^t of this step.
struct AdamStep {
  float clip, beta1, beta2, rest1, rest2, epsilon, weight_decay, learning_rate;
  float power1, power2, correction1, correction2;
  bool positive;

  AdamStep(const Adam& a, const Call& call)
      : clip(clip_of(call.in[Adam::in::clip])),
        beta1(static_cast<float>(a.beta1)),
        beta2(static_cast<float>(a.beta2)),
        rest1(static_cast<float>(1.0 - a.beta1)),
        rest2(static_cast<float>(1.0 - a.beta2)),
        epsilon(static_cast<float>(a.epsilon)),
        weight_decay(static_cast<float>(a.weight_decay)),
        learning_rate(call.in[Adam::in::learning_rate].as<const float>()[0]),
        power1(call.in[Adam::in::beta1_power].as<const float>()[0] * beta1),
        power2(call.in[Adam::in::beta2_power].as<const float>()[0] * beta2),
        correction1(1.0F - power1),
        correction2(1.0F - power2),
        positive(a.positive) {}

  /// Writes the next states of the powers. They may share memory with operands that every piece reads, so this needs a
  /// phase of its own.
  void write_powers(const Call& call) const {
    call.out[Adam::out::beta1_power_out].as<float>()[0] = power1;
    call.out[Adam::out::beta2_power_out].as<float>()[0] = power2;
  }
};

}  // namespace halfstep::kernels
