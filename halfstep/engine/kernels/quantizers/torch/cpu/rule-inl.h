// torch/rule.h on vectors, with its operations in its order. An element has the parameters scale, reciprocal of the
// scale, and zero point. Included once per Highway target.
#if defined(HALFSTEP_KERNELS_TORCH_CPU_RULE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_TORCH_CPU_RULE_INL_H_
#undef HALFSTEP_KERNELS_TORCH_CPU_RULE_INL_H_
#else
#define HALFSTEP_KERNELS_TORCH_CPU_RULE_INL_H_
#endif

#include <array>
#include <type_traits>

#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/quantizers/torch/rule.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::torch::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Positions of the parameters in the arrays that a kernel lays out.
inline constexpr size_t kScale = 0, kInverse = 1, kZeroPoint = 2, kParameters = 3;
template <class V>
using ParameterVectors = std::array<V, kParameters>;

template <class D>
inline constexpr bool kIsFloat = std::is_same_v<hn::TFromD<D>, float>;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V set_float(D d, float value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

template <class V>
HWY_INLINE V code_of(const ParameterVectors<V>& p, V x) {
  return hn::Add(hn::Round(hn::Mul(x, p[kInverse])), p[kZeroPoint]);
}

template <class V>
HWY_INLINE V fused_code_of(const ParameterVectors<V>& p, V x) {
  return hn::Round(hn::MulAdd(x, p[kInverse], p[kZeroPoint]));
}

/// Clamps codes. Every lane has the lowest and highest code.
template <class D, class V = hn::Vec<D>>
class Clamp {
 public:
  Clamp(D d, const Grid& grid)
      : low_(set_float(d, grid.low)), high_(set_float(d, grid.high)), limit_(set_float(d, kInt64Limit)) {}

  HWY_INLINE hn::Mask<D> inside(V code) const { return hn::And(hn::Ge(code, low_), hn::Le(code, high_)); }
  /// x86's maximum and minimum return their second operand if the first is NaN, or if both are 0.
  HWY_INLINE V plain(V code) const { return hn::Min(hn::Max(code, low_), high_); }
  HWY_INLINE V integer(V code) const { return hn::Add(plain(not_above_int64(code)), hn::Zero(D())); }
  HWY_INLINE V not_above_int64(V code) const { return hn::IfThenElse(hn::Lt(code, limit_), code, low_); }

  /// A clamp for codes minus `zero_point`.
  HWY_INLINE Clamp moved_by(V zero_point) const {
    Clamp moved = *this;
    moved.low_ = hn::Sub(low_, zero_point);
    moved.high_ = hn::Sub(high_, zero_point);
    return moved;
  }
  HWY_INLINE bool within(float limit) const { return hn::GetLane(low_) >= -limit && hn::GetLane(high_) <= limit; }

 private:
  V low_, high_, limit_;
};

template <class Rule>
struct Vectors;

template <>
struct Vectors<TensorRule> {
  template <class D, class V>
  static HWY_INLINE V code(D, const ParameterVectors<V>& p, V x) {
    return code_of(p, x);
  }
  template <class D, class V>
  static HWY_INLINE V real(D d, const Clamp<D>& clamp, const ParameterVectors<V>& p, V code) {
    if constexpr (kIsFloat<D>) {
      return hn::Mul(hn::Sub(clamp.plain(code), p[kZeroPoint]), p[kScale]);
    } else {
      const hn::Rebind<float, D> single;
      const auto steps = hn::Sub(hn::DemoteTo(single, clamp.plain(code)), hn::DemoteTo(single, p[kZeroPoint]));
      return hn::PromoteTo(d, hn::Mul(steps, hn::DemoteTo(single, p[kScale])));
    }
  }
};

template <>
struct Vectors<ChannelRule> {
  template <class D, class V>
  static HWY_INLINE V code(D, const ParameterVectors<V>& p, V x) {
    return code_of(p, x);
  }
  template <class D, class V>
  static HWY_INLINE V real(D, const Clamp<D>& clamp, const ParameterVectors<V>& p, V code) {
    return hn::Mul(hn::Sub(clamp.integer(code), p[kZeroPoint]), p[kScale]);
  }
};

template <>
struct Vectors<FloatZeroRule> {
  template <class D, class V>
  static HWY_INLINE V code(D, const ParameterVectors<V>& p, V x) {
    return fused_code_of(p, x);
  }
  template <class D, class V>
  static HWY_INLINE V real(D d, const Clamp<D>& clamp, const ParameterVectors<V>& p, V code) {
    const V clamped = clamp.integer(code);
    if constexpr (kIsFloat<D>) {
      const hn::Half<D> half;
      const auto low = wide_product(half, hn::LowerHalf(half, clamped), hn::LowerHalf(half, p[kZeroPoint]),
                                    hn::LowerHalf(half, p[kScale]));
      const auto high = wide_product(half, hn::UpperHalf(half, clamped), hn::UpperHalf(half, p[kZeroPoint]),
                                     hn::UpperHalf(half, p[kScale]));
      return hn::Combine(d, high, low);
    } else {
      return hn::Mul(hn::Sub(clamped, p[kZeroPoint]), p[kScale]);
    }
  }
  /// (code - zero_point) * scale in float64, rounded once.
  template <class H, class V = hn::Vec<H>>
  static HWY_INLINE V wide_product(H half, V code, V zero_point, V scale) {
    const hn::Rebind<double, H> wide;
    return hn::DemoteTo(
        half, hn::Mul(hn::Sub(hn::PromoteTo(wide, code), hn::PromoteTo(wide, zero_point)), hn::PromoteTo(wide, scale)));
  }
};

/// Quantizes and dequantizes, for elements::apply.
template <class Rule, class D>
struct Forward {
  explicit Forward(const Grid& grid) : clamp(D(), grid) {}
  template <class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const ParameterVectors<V>& p, V x) const {
    return Vectors<Rule>::real(d, clamp, p, Vectors<Rule>::code(d, p, x));
  }
  Clamp<D> clamp;

  /// Leaves the zero point out, because adding it to an integer and subtracting it after the clamp cancels. This needs
  /// exact sums within the grid. The final addition of 0 turns -0 into 0, as the zero point would.
  template <class E>
  requires(kIsFloat<E> && !std::is_same_v<Rule, FloatZeroRule>) class Uniform {
   public:
    using V = hn::Vec<E>;
    Uniform(const Forward& forward, const ParameterVectors<V>& p)
        : scale_(p[kScale]), inverse_(p[kInverse]), clamp_(forward.clamp.moved_by(p[kZeroPoint])) {}
    HWY_INLINE bool holds() const { return hn::GetLane(scale_) > 0 && clamp_.within(0x1p24F); }
    HWY_INLINE V operator()(E d, const std::array<V, 0>&, V x) const {
      const V steps = hn::Round(hn::Mul(x, inverse_));
      if constexpr (std::is_same_v<Rule, ChannelRule>) {
        return hn::MulAdd(clamp_.plain(clamp_.not_above_int64(steps)), scale_, hn::Zero(d));
      } else {
        return hn::MulAdd(clamp_.plain(steps), scale_, hn::Zero(d));
      }
    }

   private:
    V scale_, inverse_;
    Clamp<E> clamp_;
  };
};

/// v if the mask is set, otherwise v times 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V masked(D d, V v, hn::Mask<D> inside) {
  return hn::Mul(v, hn::IfThenElseZero(inside, set_float(d, 1.0F)));
}

/// The gradient of x, for elements::apply.
template <class Rule, class D>
struct Backward {
  explicit Backward(const Grid& grid) : clamp(D(), grid) {}
  template <class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const ParameterVectors<V>& p, V x, V out_grad) const {
    return masked(d, out_grad, clamp.inside(Vectors<Rule>::code(d, p, x)));
  }
  Clamp<D> clamp;
};

}  // namespace halfstep::kernels::torch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_TORCH_CPU_RULE_INL_H_
