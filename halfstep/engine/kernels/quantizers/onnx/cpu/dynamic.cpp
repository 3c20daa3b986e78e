// dynamic_quantize_linear on vectors: the range, the parameters, the codes.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/onnx/cpu/dynamic.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <memory>

#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cpu/rule-inl.h"

#ifndef HALFSTEP_KERNELS_ONNX_CPU_DYNAMIC_ONCE
#define HALFSTEP_KERNELS_ONNX_CPU_DYNAMIC_ONCE
namespace halfstep::kernels::onnx {

/// Smallest and largest number of the input and 0.
struct Range {
  float low, high;
};

using FindRange = Range (*)(const float* src, int64_t size);
using QuantizeDynamic = void (*)(const elements::Walk& walk, const float* scale, const float* zero_point,
                                 const float* src, uint8_t* dst, int64_t begin, int64_t end);

}  // namespace halfstep::kernels::onnx
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

/// Ignores NaN.
struct Extremes {
  V32 low, high;
  HWY_INLINE Extremes() : low(hn::Zero(F32())), high(low) {}
  HWY_INLINE void take(V32 x) {
    low = hn::IfThenElse(hn::Lt(x, low), x, low);
    high = hn::IfThenElse(hn::Gt(x, high), x, high);
  }
};

Range find_range(const float* src, int64_t size) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Extremes a, b, e, f;
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    a.take(hn::LoadU(d, src + i));
    b.take(hn::LoadU(d, src + i + lanes));
    e.take(hn::LoadU(d, src + i + 2 * lanes));
    f.take(hn::LoadU(d, src + i + 3 * lanes));
  }
  for (; i < size; i += lanes) a.take(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(size - i)), d, src + i));
  for (const Extremes& other : {b, e, f}) {
    a.take(other.low);
    a.take(other.high);
  }
  return {hn::GetLane(hn::MinOfLanes(d, a.low)), hn::GetLane(hn::MaxOfLanes(d, a.high))};
}

void quantize_dynamic(const elements::Walk& walk, const float* scale, const float* zero_point, const float* src,
                      uint8_t* dst, int64_t begin, int64_t end) {
  const SaturatedCodes codes{{.range = {0, 255}}};
  simd::apply<float, 2>(walk, codes, {scale, zero_point}, begin, end, dst, src);
}

}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace onnx {
namespace {

using Op = DynamicQuantizeLinear;

struct DynamicState {
  elements::Walk walk;
  FindRange range;
  QuantizeDynamic quantize;
};

/// Layout: scale and zero point, then the range of each piece.
struct Scratch {
  explicit Scratch(const Call& call)
      : scale(reinterpret_cast<float*>(call.scratch)),
        zero_point(scale + 1),
        ranges(reinterpret_cast<Range*>(scale) + 1) {}
  float *scale, *zero_point;
  Range* ranges;
};

Plan prepare(const Problem& problem) {
  const int64_t size = count_elements(problem.in[Op::in::x]->dims);
  const elements::Walk walk({1, 1, size}, size);
  return {.state = std::make_shared<DynamicState>(walk, HS_SIMD_CHOOSE(problem.level, find_range),
                                                  HS_SIMD_CHOOSE(problem.level, quantize_dynamic)),
          .scratch = static_cast<size_t>(1 + walk.pieces()) * sizeof(Range),
          .phases = {walk.pieces(), 1, walk.pieces()}};
}

void find_parameters(const Call& call, int64_t pieces, const Scratch& scratch) {
  Range all = {0.0F, 0.0F};
  for (int64_t i = 0; i < pieces; ++i) {
    all.low = std::min(all.low, scratch.ranges[i].low);
    all.high = std::max(all.high, scratch.ranges[i].high);
  }
  const auto parameters = DynamicParameters::of(all.low, all.high);
  *scratch.scale = *call.out[Op::out::y_scale].as<float>() = parameters.scale;
  *scratch.zero_point = static_cast<float>(parameters.zero_point);
  *call.out[Op::out::y_zero_point].as<uint8_t>() = static_cast<uint8_t>(parameters.zero_point);
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& [walk, range, quantize] = state_of<DynamicState>(call);
  const Scratch scratch(call);
  const auto* src = call.in[Op::in::x].as<const float>();
  const int64_t begin = walk.piece_begin(piece), end = walk.piece_end(piece);
  if (phase == 0) {
    scratch.ranges[piece] = range(src + begin, end - begin);
  } else if (phase == 1) {
    find_parameters(call, walk.pieces(), scratch);
  } else {
    quantize(walk, scratch.scale, scratch.zero_point, src, call.out[Op::out::y].as<uint8_t>(), begin, end);
  }
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_dynamic_quantize_linear_simd{"simd", accept_simd, onnx::prepare, onnx::run};

}  // namespace halfstep::kernels
#endif
