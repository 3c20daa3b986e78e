// Matrix products. Sums of floats are in double, in the order of the shared axis, and rounded
// once. Integers are summed modulo 2^64.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/matrix/batches.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Strides of a matrix, in elements.
struct Strides {
  int64_t row, column;
};

/// sums[j] = sum over k of a[k] * b[k, j].
template <class T>
void multiply_row(const T* a, int64_t a_step, const T* b, Strides b_strides, int64_t inner, int64_t columns,
                  Total<T>* sums) {
  std::fill_n(sums, columns, Total<T>(0));
  if (b_strides.column == 1) {
    for (int64_t k = 0; k < inner; ++k) {
      const Total<T> factor = total_of(a[k * a_step]);
      const T* row = b + k * b_strides.row;
      for (int64_t j = 0; j < columns; ++j) sums[j] += factor * total_of(row[j]);
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    const T* column = b + j * b_strides.column;
    Total<T> sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += total_of(a[k * a_step]) * total_of(column[k * b_strides.row]);
    sums[j] = sum;
  }
}

// gemm

struct GemmState {
  int64_t rows, inner, columns, rows_per_piece;
  Strides a, b;
  Dims c, out;
  double alpha, beta;
};

Plan prepare_gemm(const Problem& problem) {
  const Gemm attributes(problem.attributes);
  const Dims& a = problem.in[Gemm::in::a]->dims;
  const Dims& out = problem.out[0]->dims;
  const int64_t inner = a[attributes.transpose_a ? 0 : 1], rows = out[0], columns = out[1];
  const Strides a_strides = attributes.transpose_a ? Strides{1, rows} : Strides{inner, 1};
  const Strides b_strides = attributes.transpose_b ? Strides{1, inner} : Strides{columns, 1};
  const Type* c = problem.in[Gemm::in::c];
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, inner * columns));
  auto state = std::make_shared<GemmState>(rows, inner, columns, step, a_strides, b_strides,
                                           c == nullptr ? Dims() : c->dims, out, attributes.alpha, attributes.beta);
  return {.state = std::move(state),
          .worker_scratch = static_cast<size_t>(columns) * sizeof(double),
          .phases = {ceil_div(rows, step)}};
}

template <class T>
T scaled_sum(const GemmState& g, Total<T> sum, const T* c, int64_t at) {
  if constexpr (kIsFloat<T>) {
    const double product = g.alpha * sum;
    return from_double<T>(c == nullptr ? product : product + g.beta * to_double(c[broadcast_index(g.c, g.out, at)]));
  } else {
    const uint64_t product = static_cast<uint64_t>(static_cast<int64_t>(g.alpha)) * sum;
    if (c == nullptr) return static_cast<T>(product);
    const uint64_t offset = total_of(c[broadcast_index(g.c, g.out, at)]);
    return static_cast<T>(product + static_cast<uint64_t>(static_cast<int64_t>(g.beta)) * offset);
  }
}

Status run_gemm(const Call& call, int, int64_t piece) {
  using In = Gemm::in;
  const auto& g = state_of<GemmState>(call);
  with_number(call.out[0].dtype, [&]<class T>() {
    auto* sums = reinterpret_cast<Total<T>*>(call.worker_scratch);
    const int64_t end = std::min(g.rows, (piece + 1) * g.rows_per_piece);
    for (int64_t row = piece * g.rows_per_piece; row < end; ++row) {
      multiply_row(call.in[In::a].as<const T>() + row * g.a.row, g.a.column, call.in[In::b].as<const T>(), g.b, g.inner,
                   g.columns, sums);
      T* dst = call.out[0].as<T>() + row * g.columns;
      for (int64_t j = 0; j < g.columns; ++j)
        dst[j] = scaled_sum<T>(g, sums[j], call.in[In::c].as<const T>(), row * g.columns + j);
    }
  });
  return {};
}

// matmul_broadcast

Plan prepare_matmul(const Problem& problem) {
  auto shape = std::make_shared<MatmulShape>(problem.in[0]->dims, problem.in[1]->dims, problem.out[0]->dims);
  const int64_t pieces = shape->pieces();
  const auto scratch = static_cast<size_t>(shape->columns) * sizeof(double);
  return {.state = std::move(shape), .worker_scratch = scratch, .phases = {pieces}};
}

Status run_matmul(const Call& call, int, int64_t piece) {
  const auto& s = state_of<MatmulShape>(call);
  const auto batch = static_cast<size_t>(piece / s.pieces_per_batch());
  const int64_t first = piece % s.pieces_per_batch() * s.rows_per_piece,
                last = std::min(s.rows, first + s.rows_per_piece);
  with_number(call.out[0].dtype, [&]<class T>() {
    auto* sums = reinterpret_cast<Total<T>*>(call.worker_scratch);
    const T* a = call.in[0].as<const T>() + s.a_batch[batch] * s.rows * s.inner;
    const T* b = call.in[1].as<const T>() + s.b_batch[batch] * s.inner * s.columns;
    T* dst = call.out[0].as<T>() + static_cast<int64_t>(batch) * s.rows * s.columns;
    for (int64_t row = first; row < last; ++row) {
      multiply_row(a + row * s.inner, 1, b, {s.columns, 1}, s.inner, s.columns, sums);
      for (int64_t j = 0; j < s.columns; ++j) dst[row * s.columns + j] = of_total<T>(sums[j]);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_gemm{"reference", accept_all, prepare_gemm, run_gemm};
extern const Kernel reference_matmul_broadcast{"reference", accept_all, prepare_matmul, run_matmul};

}  // namespace halfstep::kernels
