// Elementwise operators of ops/learning.yaml: the work on one element, for the reference and the CUDA kernels.
#pragma once

#include <cstdint>

#include "halfstep/core/arith/learning.h"
#include "halfstep/core/arith/levels.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

namespace halfstep::kernels::learning {

template <class T>
T* at(const Call& call, int port) {
  return call.in[static_cast<size_t>(port)].as<T>();
}

/// Scales and zero points by channel.
struct Affine {
  const float* scale;
  const int32_t* zero_point;

  template <class Op>
  static Affine of(const Call& call) {
    return {at<const float>(call, Op::in::scale), at<const int32_t>(call, Op::in::zero_point)};
  }
};

/// State that prepare keeps for an operator. `Rule` is built from the attributes, channels from x.
template <class Op, class Rule>
struct Prepared {
  explicit Prepared(const Problem& problem)
      : rule(Op(problem.attributes)), channels(Channels::of(problem.in[0]->dims, axis_of(Op(problem.attributes)))) {}

  static int64_t axis_of(const Op& attributes) {
    if constexpr (requires { attributes.axis; }) return attributes.axis;
    return -1;
  }

  Rule rule;
  Channels channels;
};

/// Element of fake_quantize_soft_grad.
struct SoftGradient {
  using Op = FakeQuantizeSoftGrad;
  struct Rule {
    explicit Rule(const Op& attributes) : codes(rule_of(attributes)), step(attributes.softness) {}
    arith::CodeRule codes;
    arith::SoftStep step;
  };
  SoftGradient(const Call& call, const Rule& with)
      : rule(with),
        affine(Affine::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        out_grad(at<const float>(call, Op::in::out_grad)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t c) const {
    const float u = arith::steps_of(x[i], affine.scale[c], rule.codes) + static_cast<float>(affine.zero_point[c]);
    out[i] = arith::passes_gradient(u, rule.codes) ? out_grad[i] * rule.step.slope(u) : 0.0F;
  }

  Rule rule;
  Affine affine;
  const float *x, *out_grad;
  float* out;
};

template <class Op>
struct LevelsRule {
  explicit LevelsRule(const Op& attributes)
      : levels(*arith::parse_levels(attributes.levels), static_cast<int32_t>(attributes.code_min),
               static_cast<int32_t>(attributes.code_max)) {}
  arith::Levels levels;
};

/// Element of fake_quantize_levels.
struct NearestLevel {
  using Op = FakeQuantizeLevels;
  using Rule = LevelsRule<Op>;
  NearestLevel(const Call& call, const Rule& with)
      : rule(with),
        affine(Affine::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t c) const {
    out[i] = rule.levels.nearest(x[i], affine.scale[c], affine.zero_point[c]);
  }

  Rule rule;
  Affine affine;
  const float* x;
  float* out;
};

/// Element of fake_quantize_levels_grad.
struct LevelGradient {
  using Op = FakeQuantizeLevelsGrad;
  using Rule = LevelsRule<Op>;
  LevelGradient(const Call& call, const Rule& with)
      : rule(with),
        affine(Affine::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        out_grad(at<const float>(call, Op::in::out_grad)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t c) const {
    out[i] = rule.levels.passes_gradient(x[i], affine.scale[c], affine.zero_point[c]) ? out_grad[i] : 0.0F;
  }

  Rule rule;
  Affine affine;
  const float *x, *out_grad;
  float* out;
};

/// Element of adaptive_round.
struct AdaptiveRounding {
  using Op = AdaptiveRound;
  struct Rule {
    explicit Rule(const Op& attributes) : codes(rule_of(attributes)), hard(attributes.hard) {}
    arith::CodeRule codes;
    bool hard;
  };
  AdaptiveRounding(const Call& call, const Rule& with)
      : rule(with),
        affine(Affine::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        choice(at<const float>(call, Op::in::choice)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t c) const {
    const float up = rule.hard ? (choice[i] >= 0.0F ? 1.0F : 0.0F) : arith::Rectified::value(choice[i]);
    const float code = arith::code_between(x[i], up, affine.scale[c], affine.zero_point[c], rule.codes);
    out[i] = arith::real_between(code, affine.scale[c], affine.zero_point[c], rule.codes);
  }

  Rule rule;
  Affine affine;
  const float *x, *choice;
  float* out;
};

/// Element of adaptive_round_grad.
struct AdaptiveGradient {
  using Op = AdaptiveRoundGrad;
  struct Rule {
    explicit Rule(const Op& attributes) : codes(rule_of(attributes)) {}
    arith::CodeRule codes;
  };
  AdaptiveGradient(const Call& call, const Rule& with)
      : rule(with),
        affine(Affine::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        choice(at<const float>(call, Op::in::choice)),
        out_grad(at<const float>(call, Op::in::out_grad)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t c) const {
    const float up = arith::Rectified::value(choice[i]);
    const float code = arith::code_between(x[i], up, affine.scale[c], affine.zero_point[c], rule.codes);
    const float slope = affine.scale[c] * arith::Rectified::slope(choice[i]);
    out[i] = arith::passes_gradient(code, rule.codes) ? out_grad[i] * slope : 0.0F;
  }

  Rule rule;
  Affine affine;
  const float *x, *choice, *out_grad;
  float* out;
};

/// Elements of drop_quantized. `block` counts groups of four elements, because one Philox block has four random
/// numbers.
struct Dropping {
  static constexpr int64_t kAtOnce = 4;
  using Op = DropQuantized;
  struct Rule {
    explicit Rule(const Op& attributes)
        : seed(static_cast<uint64_t>(attributes.seed)),
          below(static_cast<uint64_t>(attributes.keep * 0x1p32)),
          is_test(attributes.is_test) {}
    uint64_t seed, below;
    bool is_test;
  };
  Dropping(const Call& call, const Rule& with)
      : rule(with),
        size(call.in[Op::in::x].size()),
        x(at<const float>(call, Op::in::x)),
        quantized(at<const float>(call, Op::in::quantized)),
        step(at<const int64_t>(call, Op::in::step)),
        out(call.out[Op::out::out_].as<float>()),
        kept(with.is_test ? nullptr : call.out[Op::out::kept].as<bool>()) {}

  HS_HOST_DEVICE void operator()(int64_t block, int64_t) const {
    const auto drawn = philox(rule.seed, static_cast<uint64_t>(*step), static_cast<uint64_t>(block));
    for (int64_t k = 0; k < kAtOnce; ++k) {
      const int64_t i = block * kAtOnce + k;
      if (i >= size) return;
      const bool keeps = rule.is_test || drawn[static_cast<size_t>(k)] < rule.below;
      out[i] = keeps ? quantized[i] : x[i];
      if (!rule.is_test) kept[i] = keeps;
    }
  }

  Rule rule;
  int64_t size;
  const float *x, *quantized;
  const int64_t* step;
  float* out;
  bool* kept;
};

/// Rule of an operator without attributes.
struct NoRule {
  template <class Op>
  explicit NoRule(const Op&) {}
};

/// Element of drop_quantized_grad.
struct DropGradient {
  using Op = DropQuantizedGrad;
  using Rule = NoRule;
  DropGradient(const Call& call, const Rule&)
      : kept(at<const bool>(call, Op::in::kept)),
        out_grad(at<const float>(call, Op::in::out_grad)),
        x_grad(call.out[Op::out::x_grad].as<float>()),
        quantized_grad(call.out[Op::out::quantized_grad].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t) const {
    x_grad[i] = kept[i] ? 0.0F : out_grad[i];
    quantized_grad[i] = kept[i] ? out_grad[i] : 0.0F;
  }

  const bool* kept;
  const float* out_grad;
  float *x_grad, *quantized_grad;
};

/// The learned ends of a range. Without `low` the range is symmetric.
struct Ends {
  template <class Op>
  static Ends of(const Call& call) {
    return {at<const float>(call, Op::in::high), at<const float>(call, Op::in::low)};
  }
  HS_HOST_DEVICE float highest() const { return *high; }
  HS_HOST_DEVICE float lowest() const { return low == nullptr ? -*high : *low; }

  const float *high, *low;
};

/// Element of learned_clip.
struct Clipping {
  using Op = LearnedClip;
  using Rule = NoRule;
  Clipping(const Call& call, const Rule&)
      : ends(Ends::of<Op>(call)), x(at<const float>(call, Op::in::x)), out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t) const {
    out[i] = x[i] < ends.lowest() ? ends.lowest() : x[i] > ends.highest() ? ends.highest() : x[i];
  }

  Ends ends;
  const float* x;
  float* out;
};

/// Element of learned_clip_grad.
struct ClipGradient {
  using Op = LearnedClipGrad;
  using Rule = NoRule;
  ClipGradient(const Call& call, const Rule&)
      : ends(Ends::of<Op>(call)),
        x(at<const float>(call, Op::in::x)),
        out_grad(at<const float>(call, Op::in::out_grad)),
        out(call.out[Op::out::out_].as<float>()) {}

  HS_HOST_DEVICE void operator()(int64_t i, int64_t) const {
    out[i] = x[i] >= ends.lowest() && x[i] <= ends.highest() ? out_grad[i] : 0.0F;
  }

  Ends ends;
  const float *x, *out_grad;
  float* out;
};

}  // namespace halfstep::kernels::learning
