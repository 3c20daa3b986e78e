// Rows of float32 in vectors, and their statistics. Included once for every target.
#if defined(HALFSTEP_KERNELS_NORM_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_NORM_ROWS_INL_H_
#undef HALFSTEP_KERNELS_NORM_ROWS_INL_H_
#else
#define HALFSTEP_KERNELS_NORM_ROWS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::norm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Float = hn::ScalableTag<float>;
using Vector = hn::Vec<Float>;

/// Calls body(begin, elements) for the vectors of a row. The last vector may be shorter.
template <class Body>
HWY_INLINE void for_vectors(int64_t size, const Body& body) {
  const int64_t lanes = hn::Lanes(Float());
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) body(i, lanes);
  if (i < size) body(i, size - i);
}

/// Loads or stores `count` lanes. Other lanes are loaded as 0. Memory after the stored lanes is unchanged.
HWY_INLINE Vector load(const float* src, int64_t count) {
  const Float d;
  return count == static_cast<int64_t>(hn::Lanes(d))
             ? hn::LoadU(d, src)
             : hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, src);
}
HWY_INLINE void store(Vector v, float* dst, int64_t count) {
  const Float d;
  if (count == static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(v, d, dst);
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, dst);
}

HWY_INLINE float total(Vector v) { return hn::GetLane(hn::SumOfLanes(Float(), v)); }

HWY_INLINE float mean_of(const float* x, int64_t size) {
  const Float d;
  Vector sum = hn::Zero(d);
  for_vectors(size, [&](int64_t i, int64_t count) { sum = hn::Add(sum, load(x + i, count)); });
  return total(sum) / static_cast<float>(size);
}

HWY_INLINE float inverse_std_of(const float* x, int64_t size, float mean, float epsilon) {
  const Float d;
  Vector sum = hn::Zero(d);
  for_vectors(size, [&](int64_t i, int64_t count) {
    const Vector rest =
        hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), hn::Sub(load(x + i, count), hn::Set(d, mean)));
    sum = hn::MulAdd(rest, rest, sum);
  });
  return 1 / std::sqrt(total(sum) / static_cast<float>(size) + epsilon);
}

}  // namespace halfstep::kernels::norm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
