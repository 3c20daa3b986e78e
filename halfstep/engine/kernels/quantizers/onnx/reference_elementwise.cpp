// Reference kernels of the com.microsoft operators (docs/arithmetic.md, section 9).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/common/join.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"
#include "halfstep/engine/kernels/quantizers/onnx/table.h"

namespace halfstep::kernels {
namespace onnx {
namespace {

Plan prepare_add(const Problem& problem) {
  Plan plan;
  plan.phases = {pieces_of(count_elements(problem.out[QlinearAdd::out::y]->dims))};
  return plan;
}

Status run_add(const Call& call, int, int64_t piece) {
  using Op = QlinearAdd;
  const ConstView &a = call.in[Op::in::a], &b = call.in[Op::in::b];
  const View& y = call.out[Op::out::y];
  const arith::FloatSum rule = add_rule(call);
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, y.size());
  with_code(y.dtype, [&]<class Code>() {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t left = a.as<const Code>()[broadcast_index(a.dims, y.dims, i)];
      const int32_t right = b.as<const Code>()[broadcast_index(b.dims, y.dims, i)];
      y.as<Code>()[i] = static_cast<Code>(saturated_code(rule.steps(left, right), 0, range_of(y.dtype)));
    }
  });
  return {};
}

template <class Op>
Plan prepare_function(const Problem& problem) {
  return {.state = std::make_shared<CodeFunction>(CodeFunction::of(Op(problem.attributes))),
          .phases = {pieces_of(count_elements(problem.in[Op::in::x]->dims))}};
}

template <class Op>
Status run_function(const Call& call, int, int64_t piece) {
  const auto& function = state_of<CodeFunction>(call);
  const ConstView& x = call.in[Op::in::x];
  const View& y = call.out[Op::out::y];
  const CodeScales scales = code_scales<Op>(call);
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, x.size());
  with_code(x.dtype, [&]<class Code>() {
    for (int64_t i = begin; i < end; ++i)
      y.as<Code>()[i] = static_cast<Code>(function.code(x.as<const Code>()[i], scales));
  });
  return {};
}

Plan prepare_concat(const Problem& problem) {
  constexpr int kFirst = QlinearConcat::in::x;
  std::vector<const Type*> codes;
  for (size_t i = kFirst; i < problem.in.size(); i += 3) codes.push_back(problem.in[i]);
  auto join = std::make_shared<Join>(codes, QlinearConcat(problem.attributes).axis);
  return {.state = join, .phases = {static_cast<int64_t>(codes.size())}};
}

/// Copies one operand for each piece.
Status run_concat(const Call& call, int, int64_t piece) {
  using Op = QlinearConcat;
  const auto& join = state_of<Join>(call);
  const auto first = static_cast<size_t>(Op::in::x + 3 * piece);
  const ConstView& x = call.in[first];
  const View& y = call.out[Op::out::y];
  const CodeScales scales = {scale_at(call.in[first + 1]), code_at(call.in[first + 2]),
                             scale_at(call.in[Op::in::y_scale]), code_at(call.in[Op::in::y_zero_point]),
                             range_of(y.dtype)};
  const int64_t chunk = join.chunk(static_cast<size_t>(piece));
  with_code(y.dtype, [&]<class Code>() {
    Code table[256];
    fill_table(CodeFunction(), scales, table);
    for (int64_t row = 0; row < join.rows; ++row) {
      const Code* src = x.as<const Code>() + row * chunk;
      Code* dst = y.as<Code>() + row * join.row() + join.begins[static_cast<size_t>(piece)];
      for (int64_t i = 0; i < chunk; ++i) dst[i] = table[static_cast<uint8_t>(src[i])];
    }
  });
  return {};
}

/// Views x as images of pixels and channels. Element (n, c, p) is at n * image + c * channel + p * pixel.
struct GlobalPool {
  int64_t n, c, pixels, image, channel, pixel;
};

Plan prepare_pool(const Problem& problem) {
  using Op = QlinearGlobalAveragePool;
  const Dims& x = problem.in[Op::in::x]->dims;
  const bool last = Op(problem.attributes).channels_last;
  const int64_t c = last ? x.back() : x[1];
  int64_t pixels = 1;
  for (size_t i = last ? 1 : 2; i < x.size() - (last ? 1 : 0); ++i) pixels *= x[i];
  const GlobalPool pool{x[0], c, pixels, c * pixels, last ? 1 : pixels, last ? c : 1};
  return {.state = std::make_shared<GlobalPool>(pool), .phases = {pool.n * pool.c}};
}

Status run_pool(const Call& call, int, int64_t piece) {
  using Op = QlinearGlobalAveragePool;
  const auto& pool = state_of<GlobalPool>(call);
  const View& y = call.out[Op::out::y];
  const auto zero_point = static_cast<uint32_t>(code_at(call.in[Op::in::x_zero_point]));
  const float multiplier = arith::float_pool_factor(
      scale_at(call.in[Op::in::x_scale]), scale_at(call.in[Op::in::y_scale]), static_cast<float>(pool.pixels));
  with_code(y.dtype, [&]<class Code>() {
    const Code* src = call.in[Op::in::x].as<const Code>() + piece / pool.c * pool.image + piece % pool.c * pool.channel;
    uint32_t sum = 0U - static_cast<uint32_t>(pool.pixels) * zero_point;
    for (int64_t p = 0; p < pool.pixels; ++p) sum += static_cast<uint32_t>(int32_t{src[p * pool.pixel]});
    y.as<Code>()[piece] = static_cast<Code>(
        requantized(static_cast<int32_t>(sum), multiplier, code_at(call.in[Op::in::y_zero_point]), range_of(y.dtype)));
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel reference_qlinear_add{"reference", accept_all, onnx::prepare_add, onnx::run_add};
extern const Kernel reference_qlinear_leaky_relu{"reference", accept_all, onnx::prepare_function<QlinearLeakyRelu>,
                                                 onnx::run_function<QlinearLeakyRelu>};
extern const Kernel reference_qlinear_sigmoid{"reference", accept_all, onnx::prepare_function<QlinearSigmoid>,
                                              onnx::run_function<QlinearSigmoid>};
extern const Kernel reference_qlinear_concat{"reference", accept_all, onnx::prepare_concat, onnx::run_concat};
extern const Kernel reference_qlinear_global_average_pool{"reference", accept_all, onnx::prepare_pool, onnx::run_pool};

}  // namespace halfstep::kernels
