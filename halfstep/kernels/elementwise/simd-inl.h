// The loop of a pointwise kernel and its functions on vectors, for one target of Highway.
#if defined(HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#undef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#else
#define HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#endif

#include <cstring>
#include <utility>

#include "halfstep/kernels/common/simd/exponential-inl.h"
#include "halfstep/kernels/elementwise/simd.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elementwise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using exponential::HWY_NAMESPACE::exp_in_range;
using exponential::HWY_NAMESPACE::polynomial;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using Mask = hn::Mask<Tag>;

/// A literal or an attribute, rounded to f32 once.
template <class T>
Vector number(Tag d, T value) {
  return hn::Set(d, static_cast<float>(value));
}
inline Mask mask(Tag d, bool value) { return hn::FirstN(d, value ? hn::Lanes(d) : 0); }
/// True where either is NaN, as != is on numbers; Highway's Ne is not.
inline Mask unequal(Vector a, Vector b) { return hn::Not(hn::Eq(a, b)); }
inline Vector min_of(Vector a, Vector b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }
inline Vector max_of(Vector a, Vector b) { return hn::IfThenElse(hn::Gt(b, a), b, a); }

/// Highway's Exp is exact to an ulp up to 104, where f32 is infinite already, and makes 0 of a NaN.
inline Vector exp_of(Tag d, Vector x) {
  const Vector exp = hn::Exp(d, hn::Min(x, hn::Set(d, 104.0f)));
  return hn::IfThenElse(hn::Eq(x, x), exp, x);
}
inline Vector sigmoid_of(Tag d, Vector x) {
  const Vector one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}
/// Within 1.3e-7: x times a polynomial of its square below 1, from there 1 - exp(a polynomial), which is 1 from 4 on.
/// Both are fits of least largest error (Lawson's weights on Chebyshev points) to erf(x) / x and to log(1 - erf(x)),
/// 1.2e-9 and 2.1e-11 of erf off before they are rounded.
inline Vector erf_of(Tag d, Vector x) {
  const Vector one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const Vector near = hn::Mul(
      x, polynomial(d, hn::Mul(x, x), 1.1283791661357303F, -0.3761262713581432F, 0.11283600174481957F,
                    -0.026854444515708287F, 0.005189535191737631F, -0.0008020839963672967F, 0.00007889115135303585F));
  const Vector log_rest = polynomial(d, hn::Min(size, hn::Set(d, 4.0f)), 0.00018804366831748354F, -1.1295784396934043F,
                                     -0.633219863962699F, -0.10841860730300389F, 0.025208274881097427F,
                                     -0.004204568332621584F, 0.0004413376284210553F, -0.00002168695170924746F);
  const Vector far = hn::Sub(one, exp_in_range(d, log_rest));
  const Vector erf = hn::IfThenElse(hn::Lt(size, one), near, hn::CopySign(far, x));
  return hn::IfThenElse(hn::Eq(x, x), erf, x);
}

/// A function that there is on numbers alone.
inline Vector each(Tag d, Vector x, float (*function)(float)) {
  float lanes[kMostLanes];
  hn::StoreU(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = function(lanes[i]);
  return hn::LoadU(d, lanes);
}

template <size_t N, class Function, size_t... I>
void map_row(const Row<N>& row, const Function& function, std::index_sequence<I...>) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t at = 0;
  for (; at + lanes <= row.size; at += lanes)
    hn::StoreU(function(d, hn::LoadU(d, row.src[I] + at * row.step[I])...), d, row.dst + at);
  if (at == row.size) return;
  // The rest goes through whole vectors too: its bits do not depend on where a run ends.
  const auto left = static_cast<size_t>(row.size - at) * sizeof(float);
  float rest[N][kMostLanes] = {};
  (std::memcpy(rest[I], row.src[I] + at * row.step[I], left), ...);
  float result[kMostLanes];
  hn::StoreU(function(d, hn::LoadU(d, rest[I])...), d, result);
  std::memcpy(row.dst + at, result, left);
}

/// dst = function(d, src...), vector by vector.
template <size_t N, class Function>
void map(const Row<N>& row, const Function& function) {
  map_row(row, function, std::make_index_sequence<N>());
}

}  // namespace halfstep::kernels::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
