// qlinear_leaky_relu and qlinear_sigmoid through a table of their 256 results.
#include <memory>

#include "halfstep/engine/kernels/common/byte_table.h"
#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/quantizers/onnx/table.h"

namespace halfstep::kernels {
namespace onnx {
namespace {

struct TableState {
  CodeFunction function;
  elements::Walk walk;
  LookUpBytes look_up;
};

/// Phase 0 fills the table.
template <class Op>
Plan prepare(const Problem& problem) {
  const int64_t size = count_elements(problem.in[Op::in::x]->dims);
  const elements::Walk walk({1, 1, size}, size);
  return {.state = std::make_shared<TableState>(CodeFunction::of(Op(problem.attributes)), walk,
                                                look_up_bytes(problem.level)),
          .scratch = 256,
          .phases = {1, walk.pieces()}};
}

template <class Op>
Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<TableState>(call);
  const ConstView& x = call.in[Op::in::x];
  const View& y = call.out[Op::out::y];
  if (phase == 0) {
    with_code(x.dtype, [&]<class Code>() {
      fill_table(state.function, code_scales<Op>(call), *reinterpret_cast<Code(*)[256]>(call.scratch));
    });
  } else {
    const int64_t begin = state.walk.piece_begin(piece);
    state.look_up(reinterpret_cast<const uint8_t*>(call.scratch), x.as<const uint8_t>() + begin,
                  y.as<uint8_t>() + begin, state.walk.piece_end(piece) - begin, state.walk.stream);
  }
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_qlinear_leaky_relu_table{"table", accept_simd, onnx::prepare<QlinearLeakyRelu>,
                                                 onnx::run<QlinearLeakyRelu>};
extern const Kernel cpu_qlinear_sigmoid_table{"table", accept_simd, onnx::prepare<QlinearSigmoid>,
                                              onnx::run<QlinearSigmoid>};

}  // namespace halfstep::kernels
