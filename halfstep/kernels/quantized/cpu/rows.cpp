#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/quantized/cpu/rows.cpp"
#include "halfstep/kernels/quantized/cpu/rows.h"

#include <algorithm>

#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/quantized/cpu/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::quantized::HWY_NAMESPACE {
#if HS_SIMD_TARGET

int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Ints())); }

template <class Code>
void requantize_lanes(const RequantizeRow& row, const int32_t* sums, int32_t* acc, Code* codes) {
  const Ints d;
  const hn::Rebind<Code, Ints> narrow;
  const IntVec sum = hn::LoadU(d, sums) + hn::Set(d, row.step.bias);
  if (acc != nullptr) hn::StoreU(sum + hn::Set(d, row.step.shown_bias), d, acc);
  const IntVec code = unclamped_code(sum, row.step, row.zero_point);
  const IntVec clamped = hn::Min(hn::Max(code, hn::Set(d, row.clamp.low)), hn::Set(d, row.clamp.high));
  hn::StoreU(hn::DemoteTo(narrow, clamped), narrow, codes);
}

template <class Code>
void requantize_row(const RequantizeRow& row) {
  auto* codes = static_cast<Code*>(row.codes);
  int64_t i = 0;
  for (; i + lanes() <= row.size; i += lanes())
    requantize_lanes(row, row.sums + i, row.acc == nullptr ? nullptr : row.acc + i, codes + i);
  if (i == row.size) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  int32_t sums[kMostLanes] = {};
  Code rest[kMostLanes];
  std::copy(row.sums + i, row.sums + row.size, sums);
  requantize_lanes(row, sums, sums, rest);
  std::copy_n(rest, row.size - i, codes + i);
  if (row.acc != nullptr) std::copy_n(sums, row.size - i, row.acc + i);
}

void subtract_u8(const uint8_t* src, int64_t size, int32_t zero_point, float* dst) {
  const hn::Rebind<uint8_t, Ints> narrow;
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec code = hn::PromoteTo(Ints(), hn::LoadU(narrow, src + i)) - hn::Set(Ints(), zero_point);
    hn::StoreU(hn::ConvertTo(Floats(), code), Floats(), dst + i);
  }
  for (; i < size; ++i) dst[i] = static_cast<float>(src[i] - zero_point);
}

void split_u16(const uint16_t* src, int64_t size, int32_t zero_point, float* low, float* high) {
  const hn::Rebind<uint16_t, Ints> narrow;
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec code = hn::PromoteTo(Ints(), hn::LoadU(narrow, src + i)) - hn::Set(Ints(), zero_point);
    hn::StoreU(hn::ConvertTo(Floats(), hn::And(code, hn::Set(Ints(), 255))), Floats(), low + i);
    hn::StoreU(hn::ConvertTo(Floats(), hn::ShiftRight<8>(code)), Floats(), high + i);
  }
  for (; i < size; ++i) {
    const int32_t code = src[i] - zero_point;
    low[i] = static_cast<float>(code & 255);
    high[i] = static_cast<float>(code >> 8);
  }
}

void add_whole(const float* src, int64_t size, int shift, bool first, int32_t* dst) {
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec sum = hn::ShiftLeftSame(hn::ConvertTo(Ints(), hn::LoadU(Floats(), src + i)), shift);
    hn::StoreU(first ? sum : sum + hn::LoadU(Ints(), dst + i), Ints(), dst + i);
  }
  for (; i < size; ++i) {
    const uint32_t sum = static_cast<uint32_t>(static_cast<int32_t>(src[i])) << shift;
    dst[i] = static_cast<int32_t>(first ? sum : sum + static_cast<uint32_t>(dst[i]));
  }
}

const RowFunctions& functions() {
  static constexpr RowFunctions all = {requantize_row<uint8_t>, requantize_row<uint16_t>, subtract_u8, split_u16,
                                       add_whole};
  return all;
}

#endif
}  // namespace halfstep::kernels::quantized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::quantized {
namespace {

arith::Multiplier multiplier_of(arith::Requantization form, arith::Multiplier factor) {
  return form == arith::Requantization::power_of_two ? arith::shift_as_multiplier(factor.shift) : factor;
}

}  // namespace

Step step_of(const arith::Scaling& scaling, int32_t correction, int32_t bias) {
  Step step;
  if (arith::is_engine(scaling.form)) {
    step.bias = correction;
    step.shown_bias = bias;
    step.by_engine = true;
    step.engine = scaling.engine;
    return step;
  }
  step.bias = static_cast<int32_t>(static_cast<uint32_t>(correction) + static_cast<uint32_t>(bias));
  step.factor = scaling.factor;
  if (scaling.form == arith::Requantization::float32) return step;
  step.positive = multiplier_of(scaling.form, scaling.positive);
  step.negative = multiplier_of(scaling.form, scaling.negative);
  return step;
}

const RowFunctions& row_functions(CpuLevel level) { return HS_SIMD_CHOOSE(level, functions)(); }

}  // namespace halfstep::kernels::quantized
#endif
