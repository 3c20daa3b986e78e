// onnx/rule.h on vectors, with its operations in its order. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_ONNX_CPU_RULE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_ONNX_CPU_RULE_INL_H_
#undef HALFSTEP_KERNELS_ONNX_CPU_RULE_INL_H_
#else
#define HALFSTEP_KERNELS_ONNX_CPU_RULE_INL_H_
#endif

#include "halfstep/engine/kernels/common/simd/arithmetic-inl.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

using arithmetic::HWY_NAMESPACE::Divisor;

/// Steps from the zero point to both ends of a range.
template <class D, class V = hn::Vec<D>>
struct StepRange {
  StepRange(D d, V zero_point, CodeRange range)
      : low(hn::Sub(hn::Set(d, static_cast<float>(range.low)), zero_point)),
        high(hn::Sub(hn::Set(d, static_cast<float>(range.high)), zero_point)) {}
  /// NaN becomes the lowest, because x86's maximum then returns its second operand.
  HWY_INLINE V clamp(V steps) const { return hn::Min(hn::Max(steps, low), high); }
  V low, high;
};

/// The code as low bits, like all functions here. Clamping to integers comes before rounding, which does not change the
/// result.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V saturated_code(D d, V steps, V zero_point, CodeRange range) {
  return hn::Add(simd::as_low_bits(d, StepRange<D>(d, zero_point, range).clamp(steps)), zero_point);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V wrapped_code(D d, V steps, V zero_point, CodeRange range) {
  const hn::RebindToSigned<D> integers;
  const V whole = hn::Round(steps);
  const auto fits = hn::Lt(hn::Abs(whole), hn::Set(d, 0x1p31F));
  const auto count =
      hn::IfThenElse(hn::RebindMask(integers, fits), hn::ConvertTo(integers, hn::IfThenElseZero(fits, whole)),
                     hn::Set(integers, INT32_MIN));
  const auto code = hn::Add(count, hn::ConvertTo(integers, zero_point));
  const auto low = hn::Set(integers, range.low), high = hn::Set(integers, range.high);
  return simd::as_low_bits(d, hn::ConvertTo(d, hn::Min(hn::Max(code, low), high)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V small_code(D d, V value, const SmallCodes& type) {
  const hn::RebindToSigned<D> i;
  const auto set = [&](uint32_t number) { return hn::Set(i, static_cast<int32_t>(number)); };
  const int dropped = 23 - type.mantissa_bits;
  const auto bits = hn::BitCast(i, value);
  const auto magnitude = hn::And(bits, set(0x7FFFFFFFU));
  const V per_step = hn::BitCast(d, set(static_cast<uint32_t>(126 + type.bias + type.mantissa_bits) << 23));
  const auto low = hn::ConvertTo(i, hn::Round(hn::Mul(hn::BitCast(d, magnitude), per_step)));
  const auto odd = hn::And(hn::ShiftRightSame(magnitude, dropped), set(1));
  const auto rounded = hn::Add(hn::Add(magnitude, set((1U << (dropped - 1)) - 1U)), odd);
  const auto high =
      hn::Sub(hn::ShiftRightSame(rounded, dropped), set(static_cast<uint32_t>(127 - type.bias) << type.mantissa_bits));
  const auto saturated = hn::IfThenElse(hn::Gt(high, set(type.largest)), set(type.overflow), high);
  const auto is_low = hn::Lt(magnitude, set(static_cast<uint32_t>(128 - type.bias) << 23));
  const auto code = hn::IfThenElse(is_low, low, saturated);
  auto sign = hn::And(hn::BroadcastSignBit(bits), set(type.sign));
  if (!type.minus_zero) sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(i)), sign);
  const auto is_nan = hn::Gt(magnitude, set(0x7F800000U));
  return simd::as_low_bits(d, hn::ConvertTo(d, hn::IfThenElse(is_nan, set(type.nan), hn::Or(code, sign))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V steps_of(D d, V x, V scale, bool in_bfloat16) {
  const V steps = hn::Div(x, scale);
  return in_bfloat16 ? simd::rounded_to<BFloat16>(d, steps) : steps;
}

/// Quantizer for elements::apply, with the scale and zero point of each channel.
struct SaturatedCodes {
  static constexpr bool kSmall = false;
  QuantizeRule rule;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 2>& parameters, V x) const {
    return saturated_code(d, hn::Div(x, parameters[0]), parameters[1], rule.range);
  }

  /// Variant for one set of parameters. Clamps x itself to multiples of the scale, which is equivalent because each of
  /// them divides into the exact number of steps.
  template <class D>
  class Uniform {
   public:
    using V = hn::Vec<D>;
    Uniform(const SaturatedCodes& codes, const std::array<V, 2>& parameters)
        : divisor_(D(), parameters[0]), zero_point_(parameters[1]), range_(D(), zero_point_, codes.rule.range) {
      range_.low = hn::Mul(range_.low, parameters[0]);
      range_.high = hn::Mul(range_.high, parameters[0]);
    }
    HWY_INLINE bool holds() const { return divisor_.holds(); }
    HWY_INLINE V operator()(D d, const std::array<V, 0>&, V x) const {
      return hn::Add(simd::as_low_bits(d, divisor_.quotient(range_.clamp(x))), zero_point_);
    }

   private:
    Divisor<D> divisor_;
    V zero_point_;
    StepRange<D> range_;
  };
};

}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_ONNX_CPU_RULE_INL_H_
