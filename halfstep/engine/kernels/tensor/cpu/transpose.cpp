// transpose and transpose_back if they exchange two axes of consecutive matrices, such as channels and pixels of
// images.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/tensor/maps.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/tensor/cpu/transpose.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after the targets, because it is compiled once for each.
#include "halfstep/engine/kernels/common/simd/squares-inl.h"

#ifndef HALFSTEP_KERNELS_SHAPE_TRANSPOSE
#define HALFSTEP_KERNELS_SHAPE_TRANSPOSE
namespace halfstep::kernels::tensor {

/// Transposes [count, rows, columns] to [count, columns, rows]. Columns are cut into parts.
struct Matrices {
  int64_t count = 1, rows = 1, columns = 1;
  int64_t part = 1;  ///< columns of a piece
  size_t size = 4;   ///< bytes of an element
  void (*columns_of)(const Matrices& m, const void* src, void* dst, int64_t begin, int64_t end) = nullptr;

  int64_t parts() const { return ceil_div(columns, part); }
};

}  // namespace halfstep::kernels::tensor
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::tensor::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void elements(const Matrices& m, const T* src, T* dst, int64_t row, int64_t begin, int64_t end) {
  for (; row < m.rows; ++row) {
    for (int64_t c = begin; c < end; ++c) dst[c * m.rows + row] = src[row * m.columns + c];
  }
}

/// Interleaves three rows, such as those of colour images, to triples.
template <class T>
void triples(const Matrices& m, const T* src, T* dst, int64_t begin, int64_t end) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; begin + lanes <= end; begin += lanes) {
    const auto a = hn::LoadU(d, src + begin), b = hn::LoadU(d, src + m.columns + begin);
    hn::StoreInterleaved3(a, b, hn::LoadU(d, src + 2 * m.columns + begin), d, dst + 3 * begin);
  }
  elements(m, src, dst, 0, begin, end);
}

/// Transposes columns [begin, end) of one matrix, in squares of four by four.
void columns(const Matrices& m, const void* from_all, void* to_all, int64_t begin, int64_t end) {
  const auto* src = static_cast<const float*>(from_all);
  auto* dst = static_cast<float*>(to_all);
  if (m.rows == 3) return triples(m, src, dst, begin, end);
  squares::HWY_NAMESPACE::turn(src + begin, m.columns, m.rows, end - begin, dst + begin * m.rows, m.rows);
}

/// Transposes codes. Has a fast path only for colour images, the frequent case.
void columns_of_bytes(const Matrices& m, const void* src, void* dst, int64_t begin, int64_t end) {
  const auto* from = static_cast<const uint8_t*>(src);
  auto* to = static_cast<uint8_t*>(dst);
  m.rows == 3 ? triples(m, from, to, begin, end) : elements(m, from, to, 0, begin, end);
}
}  // namespace halfstep::kernels::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace tensor {
namespace {

Matrices in_parts(Matrices m) {
  m.part = std::max<int64_t>(16, kPieceElements / std::max<int64_t>(1, m.rows) / 16 * 16);
  return m;
}

/// The matrices that this permutation transposes, or no rows if it does something else.
Matrices of(const Dims& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> axes;  // axes of the result, without extents of 1
  std::copy_if(perm.begin(), perm.end(), std::back_inserter(axes), [&](int64_t axis) { return x[axis] != 1; });
  std::vector<int64_t> order(axes);
  std::sort(order.begin(), order.end());
  const auto fixed = std::mismatch(axes.begin(), axes.end(), order.begin()).first - axes.begin();
  if (order.begin() + fixed == order.end()) return in_parts({.columns = count_elements(x)});
  const auto middle = std::min_element(axes.begin() + fixed, axes.end());
  std::rotate(axes.begin() + fixed, middle, axes.end());
  if (axes != order) return {.rows = 0};
  const auto extent = [&](auto begin, auto end) {
    int64_t product = 1;
    for (; begin != end; ++begin) product *= x[*begin];
    return product;
  };
  const auto rows = axes.end() - middle;  // the axes from `middle` on are last in the result and first in x
  return in_parts({.count = extent(order.begin(), order.begin() + fixed),
                   .rows = extent(order.begin() + fixed, order.begin() + fixed + rows),
                   .columns = extent(order.begin() + fixed + rows, order.end())});
}

template <class Op>
Matrices of(const Problem& problem);
template <>
Matrices of<Transpose>(const Problem& problem) {
  return of(problem.in[Transpose::in::x]->dims, Transpose(problem.attributes).perm);
}
template <>
Matrices of<TransposeBack>(const Problem& problem) {
  return of(problem.in[TransposeBack::in::x]->dims, inverse_axes(TransposeBack(problem.attributes).perm));
}

template <class Op>
Verdict accept(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Type& x = *problem.in[0];
  if (size_of(x.dtype) != sizeof(float) && size_of(x.dtype) != 1)
    return refuse(errors::kernel_takes_other_types("x", name(x.dtype), "elements of 1 or 4 bytes"));
  if (count_elements(x.dims) == 0) return refuse(errors::kernel_takes_no_empty_operand("x"));
  if (of<Op>(problem).rows == 0)
    return refuse(errors::kernel_needs_layout("a permutation that exchanges two neighbouring axes"));
  return halfstep::accept();
}

template <class Op>
Plan prepare(const Problem& problem) {
  auto state = std::make_shared<Matrices>(of<Op>(problem));
  state->size = size_of(problem.in[0]->dtype);
  state->columns_of =
      state->size == 1 ? HS_SIMD_CHOOSE(problem.level, columns_of_bytes) : HS_SIMD_CHOOSE(problem.level, columns);
  return {.state = state, .phases = {state->count * state->parts()}};
}

Status run(const Call& call, int, int64_t piece) {
  const auto& m = state_of<Matrices>(call);
  const int64_t begin = piece % m.parts() * m.part;
  const size_t offset = static_cast<size_t>(piece / m.parts() * m.rows * m.columns) * m.size;
  m.columns_of(m, call.in[0].as<const std::byte>() + offset, call.out[0].as<std::byte>() + offset, begin,
               std::min(m.columns, begin + m.part));
  return {};
}

}  // namespace
}  // namespace tensor

extern const Kernel cpu_transpose_matrices{"matrices", tensor::accept<Transpose>, tensor::prepare<Transpose>,
                                           tensor::run};
extern const Kernel cpu_transpose_back_matrices{"matrices", tensor::accept<TransposeBack>,
                                                tensor::prepare<TransposeBack>, tensor::run};

}  // namespace halfstep::kernels
#endif
