// qlinear_leaky_relu and qlinear_sigmoid through a table of their 256 results.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/onnx/cpu/table.cpp"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/kernels/elements-inl.h"
#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/onnx/table.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

constexpr size_t kParts = 16, kPart = 16;

/// The result of each byte: a byte finds its place in the one part of the table that its upper half names; in the other
/// parts it comes to 128 or more, which gives 0.
struct Find {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, kParts>& parts, V x) const {
    V found = hn::Zero(d);
    for (size_t k = 0; k < kParts; ++k) {
      const V place =
          hn::SaturatedAdd(hn::Xor(x, hn::Set(d, static_cast<uint8_t>(k * kPart))), hn::Set(d, 128 - kPart));
      found = hn::Or(found, hn::TableLookupBytesOr0(parts[k], place));
    }
    return found;
  }
};

void look_up(const uint8_t* table, const uint8_t* src, uint8_t* dst, int64_t size, bool past_caches) {
  using D = hn::ScalableTag<uint8_t>;
  simd::StillRow<D, uint8_t, kParts, Find, uint8_t> row{Find(), {}, {src}};
  for (size_t k = 0; k < kParts; ++k) row.parameters[k] = hn::LoadDup128(D(), table + k * kPart);
  simd::write_row(D(), dst, size, past_caches, row);
  if (past_caches) hwy::FlushStream();
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace onnx {
namespace {

struct TableState {
  CodeFunction function;
  elements::Walk walk;
  decltype(HS_SIMD_CHOOSE(CpuLevel(), look_up)) look_up;
};

/// Phase 0 fills the table.
template <class Op>
Plan prepare(const Problem& problem) {
  const int64_t size = count_elements(problem.in[Op::in::x]->dims);
  const elements::Walk walk({1, 1, size}, size);
  return {.state = std::make_shared<TableState>(CodeFunction::of(Op(problem.attributes)), walk,
                                                HS_SIMD_CHOOSE(problem.level, look_up)),
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
#endif
