// Reference kernels of ONNX's integer products (docs/arithmetic.md, section 9). Sums are unsigned, modulo 2^32, so that
// their order does not matter.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/image/conv/window.h"
#include "halfstep/engine/kernels/matrix/batches.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

namespace halfstep::kernels {
namespace onnx {
namespace {

/// Index of the scale or zero point of line `line` of a matrix, or of a matrix in a batch.
int64_t line_at(const ConstView& parameters, int64_t batch, int64_t line, int64_t lines) {
  if (!parameters.present() || parameters.size() == 1) return 0;
  return parameters.dims.size() == 1 ? line : batch * lines + line;
}

/// sums[j] += sum over k of (a[k] - a_zero_point) * b[k, j]. Returns the sum of the first factors.
template <class A, class B>
uint32_t add_products(const A* a, int32_t a_zero_point, const B* b, const MatmulShape& shape, uint32_t* sums) {
  uint32_t factors = 0;
  for (int64_t k = 0; k < shape.inner; ++k, b += shape.columns) {
    const int32_t factor = int32_t{a[k]} - a_zero_point;
    factors += static_cast<uint32_t>(factor);
    for (int64_t j = 0; j < shape.columns; ++j) sums[j] += static_cast<uint32_t>(factor * int32_t{b[j]});
  }
  return factors;
}

/// Operands of a product by role. matmul_integer has no scales and no y_zero_point.
struct MatmulOperands {
  ConstView a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point;
};

MatmulOperands operands_of(const Call& call, const MatmulInteger*) {
  using In = MatmulInteger::in;
  return {call.in[In::a], {}, call.in[In::a_zero_point], call.in[In::b], {}, call.in[In::b_zero_point], {}, {}};
}

MatmulOperands operands_of(const Call& call, const QlinearMatmul*) {
  using In = QlinearMatmul::in;
  return {call.in[In::a],       call.in[In::a_scale],      call.in[In::a_zero_point], call.in[In::b],
          call.in[In::b_scale], call.in[In::b_zero_point], call.in[In::y_scale],      call.in[In::y_zero_point]};
}

/// Computes row `row` of one batch of the exact product.
void sum_row(const MatmulOperands& in, const MatmulShape& shape, int64_t batch, int64_t row, uint32_t* sums) {
  const int64_t a_batch = shape.a_batch[batch], b_batch = shape.b_batch[batch];
  const int32_t a_zero_point = code_at(in.a_zero_point, line_at(in.a_zero_point, a_batch, row, shape.rows));
  std::fill_n(sums, shape.columns, 0U);
  uint32_t factors = 0;
  with_code(in.a.dtype, [&]<class A>() {
    with_code(in.b.dtype, [&]<class B>() {
      factors = add_products(in.a.as<const A>() + (a_batch * shape.rows + row) * shape.inner, a_zero_point,
                             in.b.as<const B>() + b_batch * shape.inner * shape.columns, shape, sums);
    });
  });
  for (int64_t j = 0; j < shape.columns; ++j) {
    const int64_t at = line_at(in.b_zero_point, b_batch, j, shape.columns);
    sums[j] -= factors * static_cast<uint32_t>(code_at(in.b_zero_point, at));
  }
}

/// Writes row `row` of one batch of y as codes.
void requantize_row(const MatmulOperands& in, const MatmulShape& shape, int64_t batch, int64_t row,
                    const uint32_t* sums, const View& y) {
  const int64_t a_batch = shape.a_batch[batch], b_batch = shape.b_batch[batch];
  const float a_scale = scale_at(in.a_scale, line_at(in.a_scale, a_batch, row, shape.rows));
  const float y_scale = scale_at(in.y_scale);
  const int32_t y_zero_point = code_at(in.y_zero_point);
  const CodeRange range = range_of(y.dtype);
  with_code(y.dtype, [&]<class Code>() {
    auto* dst = y.as<Code>() + (batch * shape.rows + row) * shape.columns;
    for (int64_t j = 0; j < shape.columns; ++j) {
      const float b_scale = scale_at(in.b_scale, line_at(in.b_scale, b_batch, j, shape.columns));
      const float multiplier = arith::float_product_factor(a_scale, b_scale, y_scale);
      dst[j] = static_cast<Code>(requantized(static_cast<int32_t>(sums[j]), multiplier, y_zero_point, range));
    }
  });
}

template <class Op>
Plan prepare_matmul(const Problem& problem) {
  const MatmulShape shape(problem.in[Op::in::a]->dims, problem.in[Op::in::b]->dims, problem.out[Op::out::y]->dims);
  return {.state = std::make_shared<MatmulShape>(shape),
          .worker_scratch = static_cast<size_t>(shape.columns) * sizeof(uint32_t),
          .phases = {shape.pieces()}};
}

template <class Op>
Status run_matmul(const Call& call, int, int64_t piece) {
  const auto& shape = state_of<MatmulShape>(call);
  const MatmulOperands in = operands_of(call, static_cast<const Op*>(nullptr));
  const int64_t batch = piece / shape.pieces_per_batch();
  const int64_t first = piece % shape.pieces_per_batch() * shape.rows_per_piece;
  auto* sums = reinterpret_cast<uint32_t*>(call.worker_scratch);
  for (int64_t row = first; row < std::min(shape.rows, first + shape.rows_per_piece); ++row) {
    sum_row(in, shape, batch, row, sums);
    const View& y = call.out[Op::out::y];
    if constexpr (std::is_same_v<Op, QlinearMatmul>) {
      requantize_row(in, shape, batch, row, sums, y);
    } else {
      std::copy_n(sums, shape.columns, y.as<uint32_t>() + (batch * shape.rows + row) * shape.columns);
    }
  }
  return {};
}

template <class Op>
Plan prepare_conv(const Problem& problem) {
  const auto window = ConvWindow::of(Op(problem.attributes), problem.in[Op::in::x]->dims, problem.in[Op::in::w]->dims,
                                     problem.out[Op::out::y]->dims);
  return {.state = std::make_shared<ConvWindow>(window),
          .worker_scratch = static_cast<size_t>(window.out_plane()) * sizeof(uint32_t),
          .phases = {window.n * window.o}};
}

template <class Op>
void sum_piece(const Call& call, const ConvWindow& window, int64_t piece, uint32_t* sums) {
  const ConstView &x = call.in[Op::in::x], &w = call.in[Op::in::w], &w_zero_point = call.in[Op::in::w_zero_point];
  const int64_t o = piece % window.o;
  const int32_t zero_point = code_at(w_zero_point, w_zero_point.present() && w_zero_point.size() > 1 ? o : 0);
  with_code(x.dtype, [&]<class T>() {
    with_code(w.dtype, [&]<class W>() {
      sum_windows(window, x.as<const T>(), w.as<const W>(), piece / window.o, o, sums,
                  static_cast<uint32_t>(code_at(call.in[Op::in::x_zero_point])), static_cast<uint32_t>(zero_point));
    });
  });
}

Status run_conv_integer(const Call& call, int, int64_t piece) {
  const auto& window = state_of<ConvWindow>(call);
  auto* sums = reinterpret_cast<uint32_t*>(call.worker_scratch);
  sum_piece<ConvInteger>(call, window, piece, sums);
  std::copy_n(sums, window.out_plane(), call.out[ConvInteger::out::y].as<uint32_t>() + piece * window.out_plane());
  return {};
}

Status run_qlinear_conv(const Call& call, int, int64_t piece) {
  using Op = QlinearConv;
  const auto& window = state_of<ConvWindow>(call);
  auto* sums = reinterpret_cast<uint32_t*>(call.worker_scratch);
  sum_piece<Op>(call, window, piece, sums);
  const int64_t o = piece % window.o;
  const ConstView &w_scale = call.in[Op::in::w_scale], &b = call.in[Op::in::b];
  const float multiplier =
      arith::float_product_factor(scale_at(call.in[Op::in::x_scale]), scale_at(w_scale, w_scale.size() > 1 ? o : 0),
                                  scale_at(call.in[Op::in::y_scale]));
  const auto bias = static_cast<uint32_t>(b.present() ? b.as<const int32_t>()[o] : 0);
  const int32_t zero_point = code_at(call.in[Op::in::y_zero_point]);
  const View& y = call.out[Op::out::y];
  with_code(y.dtype, [&]<class Code>() {
    auto* dst = y.as<Code>() + piece * window.out_plane();
    for (int64_t i = 0; i < window.out_plane(); ++i)
      dst[i] = static_cast<Code>(
          requantized(static_cast<int32_t>(sums[i] + bias), multiplier, zero_point, range_of(y.dtype)));
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel reference_matmul_integer{"reference", accept_all, onnx::prepare_matmul<MatmulInteger>,
                                             onnx::run_matmul<MatmulInteger>};
extern const Kernel reference_qlinear_matmul{"reference", accept_all, onnx::prepare_matmul<QlinearMatmul>,
                                             onnx::run_matmul<QlinearMatmul>};
extern const Kernel reference_conv_integer{"reference", accept_all, onnx::prepare_conv<ConvInteger>,
                                           onnx::run_conv_integer};
extern const Kernel reference_qlinear_conv{"reference", accept_all, onnx::prepare_conv<QlinearConv>,
                                           onnx::run_qlinear_conv};

}  // namespace halfstep::kernels
