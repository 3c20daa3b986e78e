// qlinear_leaky_relu and qlinear_sigmoid through a table of their 256 results.
#include <algorithm>
#include <memory>

#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/onnx/table.h"
#include "halfstep/kernels/quantize/channels.h"

namespace halfstep::kernels {
namespace onnx {
namespace {

/// Phase 0 fills the table.
template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<CodeFunction>(CodeFunction::of(Op(problem.attributes))),
          .scratch = 256,
          .phases = {1, pieces_of(count_elements(problem.in[Op::in::x]->dims))}};
}

template <class Op>
Status run(const Call& call, int phase, int64_t piece) {
  const ConstView& x = call.in[Op::in::x];
  const View& y = call.out[Op::out::y];
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, x.size());
  with_code(x.dtype, [&]<class Code>() {
    auto& table = *reinterpret_cast<Code(*)[256]>(call.scratch);
    if (phase == 0) return fill_table(state_of<CodeFunction>(call), code_scales<Op>(call), table);
    const auto* src = x.as<const uint8_t>();
    auto* dst = y.as<Code>();
    for (int64_t i = begin; i < end; ++i) dst[i] = table[src[i]];
  });
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_qlinear_leaky_relu_table{"table", accept_all, onnx::prepare<QlinearLeakyRelu>,
                                                 onnx::run<QlinearLeakyRelu>};
extern const Kernel cpu_qlinear_sigmoid_table{"table", accept_all, onnx::prepare<QlinearSigmoid>,
                                              onnx::run<QlinearSigmoid>};

}  // namespace halfstep::kernels
