// paddle/rule.h on vectors, with its operations in its order. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#undef HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#else
#define HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
#endif

#include <array>
#include <cmath>
#include <limits>

#include "halfstep/engine/kernels/common/simd/arithmetic-inl.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/quantizers/paddle/rule.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

template <class V>
HWY_INLINE V clip(V x, V low, V high) {
  return hn::IfThenElse(hn::Lt(x, low), low, hn::IfThenElse(hn::Gt(x, high), high, x));
}

/// Equals clip where low <= high. On x86, minimum and maximum return their second operand if one operand is NaN.
template <class V>
HWY_INLINE V clip_ordered(V x, V low, V high) {
  return hn::Min(high, hn::Max(low, x));
}

using arithmetic::HWY_NAMESPACE::Divisor;
using arithmetic::HWY_NAMESPACE::round_half_away;

template <int kMantissa, int kLowest, class D, class V = hn::Vec<D>>
HWY_INLINE V round_mantissa(D d, V v) {
  using C = hn::TFromD<D>;
  const V lowest = hn::Set(d, std::ldexp(C(1), kLowest));
  // Keeps only the exponent bits: a normal number becomes the power of two at or below it. Infinity and NaN become
  // infinity.
  const V exponent = hn::Set(d, std::numeric_limits<C>::infinity());
  const V magnitude = hn::Abs(v);
  const V power = hn::And(hn::IfThenElse(hn::Ge(magnitude, lowest), magnitude, lowest), exponent);
  const V step = hn::Mul(power, hn::Set(d, std::ldexp(C(1), -kMantissa)));
  return hn::Mul(hn::Round(hn::Div(v, step)), step);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V to_e4m3(D d, V v, V x) {
  using C = hn::TFromD<D>;
  const V magnitude = hn::Abs(v);
  const V nan = hn::Set(d, std::numeric_limits<C>::quiet_NaN());
  const V top = hn::CopySign(hn::Set(d, 448), hn::IfThenElse(hn::IsNaN(v), x, v));
  const V high = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 480)), nan, top);
  return hn::IfThenElse(hn::Le(magnitude, hn::Set(d, 464)), round_mantissa<3, -6>(d, v), high);
}

/// Quantizes an element. The parameters of its channel are the multiplier and, if needed, the scale.
template <class C, Rounding kRounding, bool kValues>
struct Quantize {
  static constexpr bool kReadsScale = kValues || kRounding == Rounding::half_away;
  static constexpr size_t kParameters = kReadsScale ? 2 : 1;

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, kParameters>& parameters, V x) const {
    const V code = code_of(d, parameters, x);
    if constexpr (kValues) {
      return hn::Div(hn::Mul(code, parameters[1]), hn::Set(d, q));
    } else {
      return code;
    }
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V code_of(D d, const std::array<V, kParameters>& parameters, V x) const {
    const V top = hn::Set(d, q);
    if constexpr (kRounding == Rounding::half_even) {
      return clip_ordered(hn::Round(hn::Mul(parameters[0], x)), hn::Set(d, -q - C(1)), top);
    } else if constexpr (kRounding == Rounding::half_away) {
      return round_half_away(d, hn::Mul(parameters[0], clip(x, hn::Neg(parameters[1]), parameters[1])));
    } else if constexpr (kRounding == Rounding::e5m2) {
      return round_mantissa<2, -14>(d, clip(hn::Mul(parameters[0], x), hn::Neg(top), top));
    } else {
      return to_e4m3(d, hn::Mul(parameters[0], x), x);
    }
  }

  C q;

  /// Variant for one set of parameters. The bounds are known to be ordered, and products replace the division.
  template <class D>
  requires(kReadsScale && (kRounding == Rounding::half_even || kRounding == Rounding::half_away)) class Uniform {
   public:
    using V = hn::Vec<D>;
    Uniform(const Quantize& quantize, const std::array<V, kParameters>& parameters)
        : multiplier_(parameters[0]),
          scale_(parameters[1]),
          minus_scale_(hn::Neg(scale_)),
          top_(hn::Set(D(), quantize.q)),
          low_(hn::Set(D(), -quantize.q - C(1))),
          q_(D(), top_) {}
    /// In this range every product is 0 or at least the scale, so that q_ divides it exactly.
    HWY_INLINE bool holds() const {
      const C scale = hn::GetLane(scale_);
      return scale >= C(0x1p-40) && scale <= C(0x1p40);
    }
    HWY_INLINE V operator()(D d, const std::array<V, 0>&, V x) const {
      const V code = code_of(d, x);
      if constexpr (kValues) {
        const V product = hn::Mul(code, scale_);
        return hn::CopySign(q_.quotient(product), product);
      } else {
        return code;
      }
    }

   private:
    HWY_INLINE V code_of(D d, V x) const {
      if constexpr (kRounding == Rounding::half_even) {
        return clip_ordered(hn::Round(hn::Mul(multiplier_, x)), low_, top_);
      } else {
        return round_half_away(d, hn::Mul(multiplier_, clip_ordered(x, minus_scale_, scale_)));
      }
    }

    V multiplier_, scale_, minus_scale_, top_, low_;
    Divisor<D> q_;
  };
};

/// The larger of x's magnitude and `largest`. NaN is ignored, because x86's maximum then returns its second operand.
template <class V>
HWY_INLINE V raise(V largest, V x) {
  return hn::Max(hn::Abs(x), largest);
}

/// Several vectors of magnitudes, so that comparisons do not wait for each other.
template <class D>
class Largest {
 public:
  using V = hn::Vec<D>;
  Largest() {
    for (V& v : parts_) v = hn::Zero(D());
  }
  template <size_t kPart>
  HWY_INLINE void raise_by(V x) {
    parts_[kPart] = raise(parts_[kPart], x);
  }
  HWY_INLINE hn::TFromD<D> value() const {
    const V all = hn::Max(hn::Max(parts_[0], parts_[1]), hn::Max(parts_[2], parts_[3]));
    return hn::GetLane(hn::MaxOfLanes(D(), all));
  }

 private:
  V parts_[4];
};

}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_PADDLE_CPU_RULE_INL_H_
