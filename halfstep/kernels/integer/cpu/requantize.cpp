#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/integer/cpu/requantize.cpp"
#include "halfstep/kernels/integer/cpu/requantize.h"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/integer/cpu/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

/// Shifts from which on the result is made of the products' upper halves alone. Then m < 2^31 <= 2^shift / 2, so the
/// result is at most 2^30 in magnitude, and with a zero point it still fits an int32.
constexpr int32_t kUpperHalf = 32;

IntVec scale_upper(IntVec acc, arith::Multiplier step) {
  const Products products = multiply(acc, hn::Set(Ints(), step.m));
  const LongVec half = hn::Set(Longs(), int64_t{1} << (step.shift - 1));
  const IntVec even = odd_to_even(hn::BitCast(Ints(), products.even + half));
  const IntVec odd = hn::BitCast(Ints(), products.odd + half);
  return hn::ShiftRightSame(hn::OddEven(odd, even), step.shift - kUpperHalf);
}

/// The clamp has the zero point taken off.
IntVec scale(IntVec acc, arith::Multiplier step, arith::Clamp clamp) {
  if (step.shift >= kUpperHalf) return scale_upper(acc, step);
  return shift_half_up(multiply(acc, hn::Set(Ints(), step.m)), step.shift, clamp);
}

template <class Code>
void requantize_row(const RequantizeCall& call, const ChannelStep& step, const int32_t* acc, Code* codes) {
  const Ints d;
  const hn::Rebind<Code, Ints> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const arith::Clamp inner{call.clamp.low - call.y_zero_point, call.clamp.high - call.y_zero_point};
  const IntVec bias = hn::Set(d, step.bias);
  const IntVec low = hn::Set(d, inner.low);
  const IntVec high = hn::Set(d, inner.high);
  const IntVec zero_point = hn::Set(d, call.y_zero_point);
  const bool leaky = step.positive != step.negative;
  for (int64_t i = 0; i < call.pixels; i += lanes) {
    const IntVec sum = hn::Load(d, acc + i) + bias;
    IntVec scaled = scale(sum, step.positive, inner);
    if (leaky) scaled = hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), scale(sum, step.negative, inner), scaled);
    hn::StoreU(hn::DemoteTo(narrow, hn::Min(hn::Max(scaled, low), high) + zero_point), narrow, codes + i);
  }
}

/// code_of(accumulators) are codes before the clamp.
template <class Code, class CodeOf>
void requantize_reals(const RequantizeCall& call, const ChannelStep& step, const int32_t* acc, Code* codes,
                      CodeOf&& code_of) {
  const Ints d;
  const hn::Rebind<Code, Ints> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const IntVec bias = hn::Set(d, step.bias);
  const IntVec low = hn::Set(d, call.clamp.low);
  const IntVec high = hn::Set(d, call.clamp.high);
  for (int64_t i = 0; i < call.pixels; i += lanes)
    hn::StoreU(hn::DemoteTo(narrow, hn::Min(hn::Max(code_of(hn::Load(d, acc + i) + bias), low), high)), narrow,
               codes + i);
}

template <class Code>
void requantize_float_row(const RequantizeCall& call, const ChannelStep& step, const int32_t* acc, Code* codes) {
  requantize_reals(call, step, acc, codes, [&](IntVec sum) { return float_code(sum, step.real, call.y_zero_point); });
}

template <class Code>
using Row = void (*)(const RequantizeCall& call, const ChannelStep& step, const int32_t* acc, Code* codes);

template <class Code, Row<Code> row>
void requantize(const RequantizeCall& call) {
  for (int64_t o = 0; o < call.outputs; ++o) {
    row(call, call.steps[o], call.acc + o * kBlockPixels, static_cast<Code*>(call.codes) + o * kBlockPixels);
  }
}

template <class Code>
Requantize requantize_to(arith::Requantization form) {
  if (arith::traits(form).keeps_scales) return &requantize<Code, requantize_float_row<Code>>;
  return &requantize<Code, requantize_row<Code>>;
}

Requantize requantize_of(bool wide, arith::Requantization form) {
  return wide ? requantize_to<uint16_t>(form) : requantize_to<uint8_t>(form);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::integer {

Requantize choose_requantize(CpuLevel level, const Layer& layer) {
  return HS_SIMD_CHOOSE(level, requantize_of)(layer.wide_out, layer.form.form);
}

}  // namespace halfstep::kernels::integer
#endif
