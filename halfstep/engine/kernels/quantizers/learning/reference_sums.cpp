// Reference kernels of ops/learning.yaml that sum elements or search for the largest.
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/quantizers/learning/elements.h"

namespace halfstep::kernels {
namespace learning {
namespace {

/// Rule and blocks of an operator with one result for each channel.
template <class Op, class Rule>
struct Sums {
  explicit Sums(const Problem& problem)
      : rule(Op(problem.attributes)),
        blocks(Channels::of(problem.in[0]->dims, Op(problem.attributes).axis)),
        gradient_scale(Op(problem.attributes).gradient_scale) {}
  Rule rule;
  Blocks blocks;
  double gradient_scale;
};

template <class Op, class Rule>
Plan prepare_sums(const Problem& problem) {
  return {.state = std::make_shared<Sums<Op, Rule>>(problem)};
}

/// out[c] = gradient_scale * sum of out_grad[i] * slope(rule, x[i], scale, zero_point). NaN elements do not count.
template <class Op, class Rule, auto kSlope>
Status run_sums(const Call& call, int, int64_t) {
  const auto& state = state_of<Sums<Op, Rule>>(call);
  const auto affine = Affine::of<Op>(call);
  const auto* x = at<const float>(call, Op::in::x);
  const auto* out_grad = at<const float>(call, Op::in::out_grad);
  for (int64_t c = 0; c < call.in[Op::in::scale].size(); ++c) {
    const double sum = channel_sum(state.blocks, c, [&](int64_t i) {
      if (std::isnan(x[i])) return 0.0;
      return static_cast<double>(out_grad[i]) * kSlope(state.rule, x[i], affine.scale[c], affine.zero_point[c]);
    });
    call.out[Op::out::out_].template as<float>()[c] = static_cast<float>(state.gradient_scale * sum);
  }
  return {};
}

struct CodesRule {
  explicit CodesRule(const FakeQuantizeOffsetGrad& attributes) : codes(rule_of(attributes)) {}
  arith::CodeRule codes;
};

double offset_slope(const CodesRule& rule, float x, float scale, int32_t zero_point) {
  const float code = arith::unclamped_code(x, scale, zero_point, rule.codes);
  return arith::passes_gradient(code, rule.codes) ? 0.0 : -static_cast<double>(scale);
}

using LevelsSlopes = LevelsRule<FakeQuantizeLevelsScaleGrad>;

double level_slope(const LevelsSlopes& rule, float x, float scale, int32_t zero_point) {
  return rule.levels.scale_slope(x, scale, zero_point);
}

Plan prepare_whole(const Problem& problem) {
  return {.state = std::make_shared<Blocks>(Channels::of(problem.in[0]->dims, -1))};
}

Status run_ends_grad(const Call& call, int, int64_t) {
  using Op = LearnedClipEndsGrad;
  const auto& blocks = state_of<Blocks>(call);
  const auto ends = Ends::of<Op>(call);
  const auto* x = at<const float>(call, Op::in::x);
  const auto* out_grad = at<const float>(call, Op::in::out_grad);
  const auto above =
      channel_sum(blocks, 0, [&](int64_t i) { return x[i] > ends.highest() ? double(out_grad[i]) : 0.0; });
  const auto below =
      channel_sum(blocks, 0, [&](int64_t i) { return x[i] < ends.lowest() ? double(out_grad[i]) : 0.0; });
  const bool symmetric = ends.low == nullptr;
  *call.out[Op::out::high_grad].as<float>() = static_cast<float>(symmetric ? above - below : above);
  *call.out[Op::out::low_grad].as<float>() = static_cast<float>(symmetric ? 0.0 : below);
  return {};
}

float largest_magnitude(const ConstView& x) {
  float largest = 0.0F;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.as<const float>()[i]));
  return largest;
}

Status run_unit_magnitude(const Call& call, int, int64_t) {
  const ConstView& x = call.in[UnitMagnitude::in::x];
  const float divisor = largest_magnitude(x) + arith::kMagnitudeMargin;
  for (int64_t i = 0; i < x.size(); ++i)
    call.out[UnitMagnitude::out::out_].as<float>()[i] = x.as<const float>()[i] / divisor;
  return {};
}

Status run_unit_magnitude_grad(const Call& call, int, int64_t) {
  using Op = UnitMagnitudeGrad;
  const ConstView& view = call.in[Op::in::x];
  const auto* x = view.as<const float>();
  const auto* out_grad = at<const float>(call, Op::in::out_grad);
  const float largest = largest_magnitude(view), divisor = largest + arith::kMagnitudeMargin;
  const auto& blocks = state_of<Blocks>(call);
  const double sum = channel_sum(blocks, 0, [&](int64_t i) { return double(out_grad[i]) * double(x[i]); });
  const double count = channel_sum(blocks, 0, [&](int64_t i) { return std::abs(x[i]) == largest ? 1.0 : 0.0; });
  const auto taken = static_cast<float>(sum / (double(divisor) * divisor) / count);
  for (int64_t i = 0; i < view.size(); ++i) {
    const float share = std::abs(x[i]) == largest ? std::copysign(taken, x[i] < 0.0F ? -taken : taken) : 0.0F;
    call.out[Op::out::out_].as<float>()[i] = out_grad[i] / divisor - share;
  }
  return {};
}

}  // namespace
}  // namespace learning

extern const Kernel reference_fake_quantize_offset_grad, reference_fake_quantize_levels_scale_grad,
    reference_learned_clip_ends_grad, reference_unit_magnitude, reference_unit_magnitude_grad;
const Kernel reference_fake_quantize_offset_grad{
    "reference", accept_all, learning::prepare_sums<FakeQuantizeOffsetGrad, learning::CodesRule>,
    learning::run_sums<FakeQuantizeOffsetGrad, learning::CodesRule, learning::offset_slope>};
const Kernel reference_fake_quantize_levels_scale_grad{
    "reference", accept_all, learning::prepare_sums<FakeQuantizeLevelsScaleGrad, learning::LevelsSlopes>,
    learning::run_sums<FakeQuantizeLevelsScaleGrad, learning::LevelsSlopes, learning::level_slope>};
const Kernel reference_learned_clip_ends_grad{"reference", accept_all, learning::prepare_whole,
                                              learning::run_ends_grad};
const Kernel reference_unit_magnitude{"reference", accept_all, learning::prepare_whole, learning::run_unit_magnitude};
const Kernel reference_unit_magnitude_grad{"reference", accept_all, learning::prepare_whole,
                                           learning::run_unit_magnitude_grad};

}  // namespace halfstep::kernels
