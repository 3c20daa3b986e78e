// The loop of a pointwise kernel and its functions on vectors, for one target of Highway.
#if defined(HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#undef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#else
#define HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#endif

#include <cstring>
#include <utility>

#include "halfstep/kernels/elementwise/simd.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elementwise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
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
