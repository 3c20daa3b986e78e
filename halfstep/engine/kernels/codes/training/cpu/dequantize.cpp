// Float values of accumulators and of weights on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/dequantize.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/training/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

FloatVec activated(FloatVec v, const AccumulatorRow& row) {
  const Floats d;
  const auto negative = hn::Lt(v, hn::Zero(d));
  switch (row.activation) {
    case arith::Activation::none: break;
    case arith::Activation::relu: return hn::IfThenZeroElse(negative, v);
    case arith::Activation::relu6: {
      const FloatVec six = hn::Set(d, 6.0F);
      return hn::IfThenElse(hn::Gt(v, six), six, hn::IfThenZeroElse(negative, v));
    }
    case arith::Activation::leaky_relu: return hn::IfThenElse(negative, v * hn::Set(d, row.alpha), v);
  }
  return v;
}

void dequantize_row(const AccumulatorRow& row) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto at = [&](const int32_t* acc, const float* w_scale, float* dst, bool stream) {
    const FloatVec sum = hn::ConvertTo(d, hn::LoadU(Ints(), acc));
    const FloatVec scale = row.by_element ? hn::LoadU(d, w_scale) : hn::Set(d, *row.w_scale);
    put(activated(sum * hn::Set(d, row.x_scale) * scale, row), d, dst, stream);
  };
  const bool stream = may_stream(row.past_caches, row.dst);
  int64_t i = 0;
  for (; i + lanes <= row.size; i += lanes) at(row.acc + i, row.w_scale + i, row.dst + i, stream);
  if (i == row.size) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  int32_t acc[kMostLanes] = {};
  float dst[kMostLanes], w_scale[kMostLanes] = {};
  std::copy(row.acc + i, row.acc + row.size, acc);
  if (row.by_element) std::copy(row.w_scale + i, row.w_scale + row.size, w_scale);
  at(acc, w_scale, dst, false);
  std::copy_n(dst, row.size - i, row.dst + i);
}

void dequantize_weights(const int8_t* codes, int64_t size, float scale, float* dst) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const FloatVec code = hn::ConvertTo(d, hn::PromoteTo(Ints(), hn::LoadU(narrow, codes + i)));
    hn::StoreU(code * hn::Set(d, scale), d, dst + i);
  }
  for (; i < size; ++i) dst[i] = static_cast<float>(codes[i]) * scale;
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

struct AccumulatorState {
  arith::Activation activation;
  float alpha;
  void (*row)(const AccumulatorRow& row);
};

Plan prepare_dequantize_accumulator(const Problem& problem) {
  const DequantizeAccumulator attributes(problem.attributes);
  const RequantizeRule rule = requantize_rule(attributes);
  const AccumulatorState state{rule.activation, static_cast<float>(rule.alpha),
                               HS_SIMD_CHOOSE(problem.level, dequantize_row)};
  return {.state = std::make_shared<AccumulatorState>(state),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_dequantize_accumulator(const Call& call, int, int64_t piece) {
  using In = DequantizeAccumulator::in;
  const auto& state = state_of<AccumulatorState>(call);
  const ConstView& acc = call.in[In::acc];
  const ConstView& w_scale = call.in[In::w_scale];
  const Channels channels = Channels::of(acc.dims, w_scale.size() == 1 ? -1 : 1);
  const bool by_element = channels.run == 1;
  const Channels runs = by_element ? Channels{1, channels.outer, channels.count} : channels;
  RunWalk walk(runs, piece * kPieceElements, std::min(acc.size(), (piece + 1) * kPieceElements));
  while (walk.next()) {
    AccumulatorRow row;
    row.by_element = by_element;
    row.size = walk.size();
    row.acc = acc.as<const int32_t>() + walk.begin();
    row.x_scale = *call.in[In::x_scale].as<const float>();
    row.w_scale = w_scale.as<const float>() + (by_element ? walk.begin() % channels.count : walk.channel());
    row.activation = state.activation;
    row.alpha = state.alpha;
    row.dst = call.out[DequantizeAccumulator::out::out_].as<float>() + walk.begin();
    row.past_caches = past_caches(acc.size());
    state.row(row);
  }
  if (past_caches(acc.size())) hwy::FlushStream();
  return {};
}

struct WeightState {
  Channels channels;
  decltype(&N_AVX2::dequantize_weights) row;
};

Plan prepare_dequantize_weight(const Problem& problem) {
  const Dims& dims = problem.out[0]->dims;
  const WeightState state{Channels::of(dims, problem.in[DequantizeWeight::in::scale]->dims[0] == 1 ? -1 : 0),
                          HS_SIMD_CHOOSE(problem.level, dequantize_weights)};
  return {.state = std::make_shared<WeightState>(state), .phases = {pieces_of(count_elements(dims))}};
}

Status run_dequantize_weight(const Call& call, int, int64_t piece) {
  using In = DequantizeWeight::in;
  const auto& state = state_of<WeightState>(call);
  const ConstView& w = call.in[In::w];
  RunWalk walk(state.channels, piece * kPieceElements, std::min(w.size(), (piece + 1) * kPieceElements));
  while (walk.next())
    state.row(w.as<const int8_t>() + walk.begin(), walk.size(), call.in[In::scale].as<const float>()[walk.channel()],
              call.out[0].as<float>() + walk.begin());
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_dequantize_weight_rows{"rows", accept_simd, training::prepare_dequantize_weight,
                                               training::run_dequantize_weight};
extern const Kernel cpu_dequantize_accumulator_planes{"planes", accept_simd, training::prepare_dequantize_accumulator,
                                                      training::run_dequantize_accumulator};

}  // namespace halfstep::kernels
#endif
