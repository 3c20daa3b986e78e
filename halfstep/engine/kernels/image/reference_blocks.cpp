// Blocks summed into images, bits as other numbers, and determinants. Computed in double, rounded once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/join.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/common/window.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

// col2im

struct BlockState {
  Window window;
  int64_t blocks;
};

/// The windows of the blocks in an image.
BlockState block_state(const Problem& problem) {
  const Col2im a(problem.attributes);
  Window window(a, a.image, a.block, a.image);
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t room = window.in[axis] + window.before[axis] + window.after[axis] - window.span(axis);
    window.out[axis] = room / window.stride[axis] + 1;
  }
  return {window, window.out_plane()};
}

template <class Typed>
Verdict accept_blocks(const Problem& problem) {
  const Dims& x = problem.in[Typed::in::x]->dims;
  const int64_t blocks = block_state(problem).blocks;
  if (blocks != x[2])
    return refuse(errors::operand_extents_do_not_fit(
        "x", to_string(x), fmt::format("{} blocks on axis 2, as many as the image has", blocks)));
  return accept();
}

Plan prepare_blocks(const Problem& problem) {
  auto state = std::make_shared<BlockState>(block_state(problem));
  const auto scratch = static_cast<size_t>(state->window.plane()) * sizeof(double);
  const Dims& out = problem.out[0]->dims;
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {out[0] * out[1]}};
}

Status run_blocks(const Call& call, int, int64_t piece) {
  const auto& [window, blocks] = state_of<BlockState>(call);
  with_number(call.out[0].dtype, [&, &g = window, &blocks = blocks]<class T>() {
    auto* sums = reinterpret_cast<Total<T>*>(call.worker_scratch);
    std::fill_n(sums, g.plane(), Total<T>(0));
    const T* src = call.in[0].as<const T>() + piece * g.taps() * blocks;
    for (int64_t tap = 0; tap < g.taps(); ++tap, src += blocks)
      g.for_each_meeting(tap, [&](int64_t place, int64_t block) { sums[place] += total_of(src[block]); });
    T* dst = call.out[0].as<T>() + piece * g.plane();
    for (int64_t i = 0; i < g.plane(); ++i) dst[i] = of_total<T>(sums[i]);
  });
  return {};
}

Plan prepare_blocks_grad(const Problem& problem) {
  const Dims& image = problem.in[Col2imGrad::in::out_grad]->dims;
  return {.state = std::make_shared<BlockState>(block_state(problem)), .phases = {image[0] * image[1]}};
}

Status run_blocks_grad(const Call& call, int, int64_t piece) {
  const auto& [window, blocks] = state_of<BlockState>(call);
  with_any_float(call.out[0].dtype, [&, &g = window, &blocks = blocks]<class T>() {
    const T* out_grad = call.in[Col2imGrad::in::out_grad].as<const T>() + piece * g.plane();
    T* dst = call.out[0].as<T>() + piece * g.taps() * blocks;
    std::fill_n(dst, g.taps() * blocks, T(0));
    for (int64_t tap = 0; tap < g.taps(); ++tap, dst += blocks)
      g.for_each_meeting(tap, [&](int64_t place, int64_t block) { dst[block] = out_grad[place]; });
  });
  return {};
}

// bit_cast

Verdict accept_bits(const Problem& problem) {
  const DType from = problem.in[0]->dtype, to = problem.out[0]->dtype;
  if (bits_of(from) != bits_of(to))
    return refuse(errors::kernel_takes_other_types("x", name(from), fmt::format("a type of the size of {}", name(to))));
  return accept();
}

Plan prepare_bits(const Problem&) { return {}; }

Status run_bits(const Call& call, int, int64_t) {
  copy_bytes(call.out[0].data, call.in[0].data, call.out[0].size() * static_cast<int64_t>(size_of(call.out[0].dtype)));
  return {};
}

// determinant

struct MatrixState {
  int64_t size;
};

/// A piece is a matrix.
Plan prepare_matrices(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const int64_t size = x.back();
  return {.state = std::make_shared<MatrixState>(size),
          .worker_scratch = static_cast<size_t>(size * size) * sizeof(double),
          .phases = {count_elements(Dims(x.begin(), x.end() - 2))}};
}

/// Gaussian elimination with the largest pivot of each column.
double determinant(double* m, int64_t size) {
  double product = 1;
  for (int64_t column = 0; column < size; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; ++row) {
      if (std::fabs(m[row * size + column]) > std::fabs(m[pivot * size + column])) pivot = row;
    }
    const double value = m[pivot * size + column];
    product *= pivot == column ? value : -value;
    if (value == 0) return 0;
    if (pivot != column) std::swap_ranges(m + pivot * size, m + (pivot + 1) * size, m + column * size);
    for (int64_t row = column + 1; row < size; ++row) {
      const double factor = m[row * size + column] / value;
      for (int64_t i = column; i < size; ++i) m[row * size + i] -= factor * m[column * size + i];
    }
  }
  return product;
}

Status run_determinant(const Call& call, int, int64_t piece) {
  const int64_t size = state_of<MatrixState>(call).size;
  auto* matrix = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>() + piece * size * size;
    for (int64_t i = 0; i < size * size; ++i) matrix[i] = to_double(src[i]);
    call.out[0].as<T>()[piece] = from_double<T>(determinant(matrix, size));
  });
  return {};
}

/// The cofactor of an element: the determinant without its row and column, with a sign. `minor` is scratch.
template <class T>
double cofactor(const T* matrix, int64_t size, int64_t row, int64_t column, double* minor) {
  double* to = minor;
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < size; ++k) {
      if (i != row && k != column) *to++ = to_double(matrix[i * size + k]);
    }
  }
  const double value = determinant(minor, size - 1);
  return (row + column) % 2 == 0 ? value : -value;
}

Status run_determinant_grad(const Call& call, int, int64_t piece) {
  using In = DeterminantGrad::in;
  const int64_t size = state_of<MatrixState>(call).size;
  auto* minor = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* matrix = call.in[In::x].as<const T>() + piece * size * size;
    const double out_grad = to_double(call.in[In::out_grad].as<const T>()[piece]);
    T* dst = call.out[0].as<T>() + piece * size * size;
    for (int64_t i = 0; i < size * size; ++i)
      dst[i] = from_double<T>(out_grad * cofactor(matrix, size, i / size, i % size, minor));
  });
  return {};
}

}  // namespace

extern const Kernel reference_col2im{"reference", accept_blocks<Col2im>, prepare_blocks, run_blocks};
extern const Kernel reference_col2im_grad{"reference", accept_blocks<Col2imGrad>, prepare_blocks_grad, run_blocks_grad};
extern const Kernel reference_bit_cast{"reference", accept_bits, prepare_bits, run_bits};
extern const Kernel reference_determinant{"reference", accept_all, prepare_matrices, run_determinant};
extern const Kernel reference_determinant_grad{"reference", accept_all, prepare_matrices, run_determinant_grad};

}  // namespace halfstep::kernels
