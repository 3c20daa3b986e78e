// Reference kernels of ops/learning.yaml: elementwise operators, and those on scales.
#include <algorithm>
#include <memory>

#include "halfstep/core/arith/range.h"
#include "halfstep/engine/kernels/quantizers/learning/elements.h"

namespace halfstep::kernels {
namespace learning {
namespace {

template <class Element>
using State = Prepared<typename Element::Op, typename Element::Rule>;

template <class Element>
Plan prepare(const Problem& problem) {
  auto state = std::make_shared<State<Element>>(problem);
  const int64_t pieces = pieces_of(state->channels.size());
  return {.state = std::move(state), .phases = {pieces}};
}

template <class Element>
Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<State<Element>>(call);
  const Element element(call, state.rule);
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, state.channels.size());
  for (RunWalk walk(state.channels, begin, end); walk.next();) {
    for (int64_t i = walk.begin(); i < walk.begin() + walk.size(); ++i) element(i, walk.channel());
  }
  return {};
}

Plan prepare_drop(const Problem& problem) {
  auto state = std::make_shared<State<Dropping>>(problem);
  const int64_t pieces = pieces_of(state->channels.size());
  return {.state = std::move(state), .phases = {pieces, 1}};
}

Status run_drop(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<State<Dropping>>(call);
  if (phase == 1) {
    if (!state.rule.is_test)
      *call.out[DropQuantized::out::step_out].as<int64_t>() = *at<const int64_t>(call, DropQuantized::in::step) + 1;
    return {};
  }
  const Dropping element(call, state.rule);
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, state.channels.size());
  for (int64_t block = begin / Dropping::kAtOnce; block * Dropping::kAtOnce < end; ++block) element(block, 0);
  return {};
}
static_assert(kPieceElements % Dropping::kAtOnce == 0);

Plan prepare_offset(const Problem& problem) { return {.state = std::make_shared<WholeOffset>(problem.attributes)}; }

Status run_offset(const Call& call, int, int64_t) {
  const auto& attributes = state_of<WholeOffset>(call);
  const ConstView& offset = call.in[WholeOffset::in::offset];
  for (int64_t c = 0; c < offset.size(); ++c) {
    call.out[WholeOffset::out::out_].as<int32_t>()[c] =
        arith::whole_offset(offset.as<const float>()[c], static_cast<int32_t>(attributes.code_min),
                            static_cast<int32_t>(attributes.code_max));
  }
  return {};
}

Plan prepare_parameters(const Problem& problem) {
  const RangeParameters attributes(problem.attributes);
  return {.state = std::make_shared<arith::CodeGrid>(arith::CodeGrid{
              static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max),
              *arith::parse_zero_points(attributes.zero_points), attributes.power_of_two, attributes.nearest_power})};
}

Status run_parameters(const Call& call, int, int64_t) {
  using Op = RangeParameters;
  const auto* high = at<const float>(call, Op::in::high);
  const auto* low = at<const float>(call, Op::in::low);
  for (int64_t c = 0; c < call.in[Op::in::high].size(); ++c) {
    const auto parameters =
        arith::parameters_of(low == nullptr ? -high[c] : low[c], high[c], state_of<arith::CodeGrid>(call));
    call.out[Op::out::scale].as<float>()[c] = parameters.scale;
    call.out[Op::out::zero_point].as<int32_t>()[c] = parameters.zero_point;
  }
  return {};
}

Plan prepare_nothing(const Problem&) { return {}; }

Status run_threshold(const Call& call, int, int64_t) {
  const ConstView& exponents = call.in[ThresholdScale::in::log2_scale];
  for (int64_t c = 0; c < exponents.size(); ++c) {
    call.out[ThresholdScale::out::out_].as<float>()[c] = arith::threshold_scale(exponents.as<const float>()[c]);
  }
  return {};
}

Status run_threshold_grad(const Call& call, int, int64_t) {
  constexpr float kLog2 = 0.69314718F;
  const ConstView& out = call.in[ThresholdScaleGrad::in::out];
  const auto* out_grad = at<const float>(call, ThresholdScaleGrad::in::out_grad);
  for (int64_t c = 0; c < out.size(); ++c) call.out[0].as<float>()[c] = out_grad[c] * out.as<const float>()[c] * kLog2;
  return {};
}

}  // namespace

template <class Element>
constexpr Kernel kReference{"reference", accept_all, prepare<Element>, run<Element>};

}  // namespace learning

extern const Kernel reference_fake_quantize_soft_grad, reference_fake_quantize_levels,
    reference_fake_quantize_levels_grad, reference_adaptive_round, reference_adaptive_round_grad,
    reference_drop_quantized, reference_drop_quantized_grad, reference_learned_clip, reference_learned_clip_grad,
    reference_whole_offset, reference_range_parameters, reference_threshold_scale, reference_threshold_scale_grad;
const Kernel reference_fake_quantize_soft_grad = learning::kReference<learning::SoftGradient>;
const Kernel reference_fake_quantize_levels = learning::kReference<learning::NearestLevel>;
const Kernel reference_fake_quantize_levels_grad = learning::kReference<learning::LevelGradient>;
const Kernel reference_adaptive_round = learning::kReference<learning::AdaptiveRounding>;
const Kernel reference_adaptive_round_grad = learning::kReference<learning::AdaptiveGradient>;
const Kernel reference_drop_quantized_grad = learning::kReference<learning::DropGradient>;
const Kernel reference_learned_clip = learning::kReference<learning::Clipping>;
const Kernel reference_learned_clip_grad = learning::kReference<learning::ClipGradient>;
const Kernel reference_drop_quantized{"reference", accept_all, learning::prepare_drop, learning::run_drop};
const Kernel reference_whole_offset{"reference", accept_all, learning::prepare_offset, learning::run_offset};
const Kernel reference_range_parameters{"reference", accept_all, learning::prepare_parameters,
                                        learning::run_parameters};
const Kernel reference_threshold_scale{"reference", accept_all, learning::prepare_nothing, learning::run_threshold};
const Kernel reference_threshold_scale_grad{"reference", accept_all, learning::prepare_nothing,
                                            learning::run_threshold_grad};

}  // namespace halfstep::kernels
