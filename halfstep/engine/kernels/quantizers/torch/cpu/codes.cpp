// PyTorch's integer codes on vectors. 8-bit codes are computed in float32 lanes, in which every
// code and every sum that is not clamped is exact. 32-bit codes are computed in float64 lanes, but each product and
// rounding is still in float32.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/torch/cpu/codes.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/quantizers/torch/code_channels.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/pieces.h"

#ifndef HALFSTEP_KERNELS_TORCH_CPU_CODES_ONCE
#define HALFSTEP_KERNELS_TORCH_CPU_CODES_ONCE
namespace halfstep::kernels::torch {

/// The lowest and the highest code of a type.
struct CodeEnds {
  double low, high;
};

/// Computes elements [begin, end). `parameters` has the reciprocals of all channels' scales (dequantizing: the scales),
/// then their zero points. They are float, or double if `wide`.
struct CodePiece {
  void (*run)(const elements::Walk& walk, const CodeEnds& ends, const void* parameters, const void* src, void* dst,
              int64_t begin, int64_t end);
  bool wide;
};

}  // namespace halfstep::kernels::torch
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::torch::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

/// Reciprocal of the scale (dequantizing: the scale), zero point.
template <class V>
using CodeVectors = std::array<V, 2>;

/// Codes of a type: 8-bit codes in float lanes, 32-bit codes in double lanes.
struct Codes {
  explicit Codes(const CodeEnds& of) : ends(of) {}
  template <class D>
  HWY_INLINE hn::Vec<D> low(D d) const {
    return hn::Set(d, static_cast<hn::TFromD<D>>(ends.low));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> high(D d) const {
    return hn::Set(d, static_cast<hn::TFromD<D>>(ends.high));
  }
  /// Saturates an integer or NaN. x86's maximum and minimum return their second operand if the first is NaN.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V saturate(D d, V code) const {
    const V whole = hn::Min(hn::Max(code, low(d)), high(d));
    return sizeof(hn::TFromD<D>) == sizeof(float) ? hn::IfThenElse(hn::IsNaN(code), hn::Zero(d), whole) : whole;
  }
  CodeEnds ends;
};

/// wrapping_code in float lanes. A sum with an 8-bit zero point leaves int32 only at the bottom, where the steps are
/// -2^31 and the zero point is negative. It then wraps to the top.
struct WrappingCodes : Codes {
  using Codes::Codes;
  template <class D, class V>
  HWY_INLINE V operator()(D d, const CodeVectors<V>& p, V x) const {
    const V low = hn::Sub(this->low(d), p[1]), high = hn::Sub(this->high(d), p[1]);
    const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    const V bottom = hn::IfThenElse(hn::Lt(p[1], hn::Zero(d)), hn::Set(d, kBottomSteps), nan);
    const V steps = hn::Mul(x, p[0]);
    const V clamped = hn::Max(hn::Min(steps, high), low);
    return hn::Add(simd::as_low_bits(d, hn::IfThenElse(hn::Le(steps, bottom), high, clamped)), p[1]);
  }
};

template <bool kFloatZero>
struct SaturatingCodes : Codes {
  using Codes::Codes;
  template <class D, class V>
  HWY_INLINE V operator()(D d, const CodeVectors<V>& p, V x) const {
    if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
      return simd::as_low_bits(d, saturate(d, steps(p[0], p[1], x)));
    } else {
      const hn::Rebind<float, D> single;
      const auto inverse = hn::DemoteTo(single, p[0]);
      const auto x_single = hn::DemoteTo(single, x);
      if constexpr (kFloatZero)
        return saturate(d, hn::PromoteTo(d, steps(inverse, hn::DemoteTo(single, p[1]), x_single)));
      return saturate(d, hn::Add(hn::PromoteTo(d, hn::Round(hn::Mul(x_single, inverse))), p[1]));
    }
  }
  template <class V>
  static HWY_INLINE V steps(V inverse, V zero_point, V x) {
    if constexpr (kFloatZero) return hn::Round(hn::MulAdd(x, inverse, zero_point));
    return hn::Add(hn::Round(hn::Mul(x, inverse)), zero_point);
  }
};

/// (code - zero_point) * scale in the lanes' type.
struct RealOf {
  explicit RealOf(const CodeEnds&) {}
  template <class D, class V>
  HWY_INLINE V operator()(D, const CodeVectors<V>& p, V code) const {
    return hn::Mul(hn::Sub(code, p[1]), p[0]);
  }
};

/// (code - zero_point) * scale in float64 lanes. The difference wraps around in int32, then becomes a float32.
struct WrappedRealOf {
  explicit WrappedRealOf(const CodeEnds&) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, const CodeVectors<V>& p, V code) const {
    const hn::Rebind<float, D> single;
    const V turn = hn::Set(d, 0x1p32);
    V difference = hn::Sub(code, p[1]);
    difference = hn::IfThenElse(hn::Ge(difference, hn::Set(d, 0x1p31)), hn::Sub(difference, turn), difference);
    difference = hn::IfThenElse(hn::Lt(difference, hn::Set(d, -0x1p31)), hn::Add(difference, turn), difference);
    return hn::PromoteTo(d, hn::Mul(hn::DemoteTo(single, difference), hn::DemoteTo(single, p[0])));
  }
};

template <class C, class Function, class U, class T>
void code_elements(const elements::Walk& walk, const CodeEnds& ends, const void* parameters, const void* src, void* dst,
                   int64_t begin, int64_t end) {
  const auto* first = static_cast<const C*>(parameters);
  simd::apply<C, 2>(walk, Function(ends), {first, first + walk.channels.count}, begin, end, static_cast<U*>(dst),
                    static_cast<const T*>(src));
}

template <class T, class C, class Code>
CodePiece quantize_piece(CodeForm form) {
  constexpr bool kWide = std::is_same_v<C, double>;
  if constexpr (!kWide) {
    if (form == CodeForm::wrapping) return {&code_elements<C, WrappingCodes, Code, T>, kWide};
  }
  return {form == CodeForm::float_zero ? &code_elements<C, SaturatingCodes<true>, Code, T>
                                       : &code_elements<C, SaturatingCodes<false>, Code, T>,
          kWide};
}

/// Codes are stored by their low bits, so that only the bit width matters.
template <class T>
CodePiece quantize_piece(CodeForm form, DType code) {
  return code == DType::i32 ? quantize_piece<T, double, int32_t>(form) : quantize_piece<T, float, uint8_t>(form);
}

CodePiece choose_quantize(CodeForm form, DType x, DType code) {
  switch (x) {
    case DType::f16: return quantize_piece<Half>(form, code);
    case DType::bf16: return quantize_piece<BFloat16>(form, code);
    default: return quantize_piece<float>(form, code);
  }
}

/// `wraps`: whether the difference can leave int32, or the 24 bits of a float32.
CodePiece choose_dequantize(CodeForm form, DType code, bool wraps) {
  return with_code(code, [&]<class Code>() -> CodePiece {
    if (form == CodeForm::saturating) return {&code_elements<double, RealOf, float, Code>, true};
    if (form == CodeForm::wrapping && wraps) return {&code_elements<double, WrappedRealOf, float, Code>, true};
    return {&code_elements<float, RealOf, float, Code>, false};
  });
}

}  // namespace halfstep::kernels::torch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace torch {
namespace {

struct CodeState {
  CodeChannels codes;
  elements::Walk walk;
  ChannelArrays arrays;
  CodeEnds ends;
  CodePiece piece;
  bool quantizes;
};

Plan plan_of(const CodeChannels& codes, const CodePiece& piece, bool quantizes, size_t result_width) {
  auto state = std::make_shared<CodeState>();
  state->codes = codes;
  state->walk = elements::Walk(codes.channels, codes.channels.size() * static_cast<int64_t>(result_width));
  state->arrays = ChannelArrays(codes.channels.count, 2);
  state->ends = with_code(codes.code_type, []<class Code>() {
    return CodeEnds{std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max()};
  });
  state->piece = piece;
  state->quantizes = quantizes;
  Plan plan = state->arrays.plan(state->walk.pieces());
  plan.state = state;
  return plan;
}

template <class Op>
Plan prepare_quantize(const Problem& problem) {
  const auto codes = CodeChannels::of<Op>(problem);
  const CodePiece piece = HS_SIMD_CHOOSE(problem.level, choose_quantize)(codes.form, codes.float_type, codes.code_type);
  return plan_of(codes, piece, true, size_of(codes.code_type));
}

template <class Op>
Plan prepare_dequantize(const Problem& problem) {
  const auto codes = CodeChannels::of<Op>(problem);
  constexpr double kExact = 0x1p23;
  const bool wraps = codes.code_type == DType::i32 || std::fabs(codes.fixed.zero_point) > kExact;
  const CodePiece piece = HS_SIMD_CHOOSE(problem.level, choose_dequantize)(codes.form, codes.code_type, wraps);
  return plan_of(codes, piece, false, sizeof(float));
}

template <class C>
void derive_codes(const CodeState& state, const Call& call, C* arrays) {
  const int64_t count = state.codes.channels.count;
  const CodeParameterSource parameters = state.codes.parameters(call);
  for (int64_t c = 0; c < count; ++c) {
    const CodeParameters p = parameters.of(c);
    arrays[c] = state.quantizes ? static_cast<C>(p.inverse()) : static_cast<C>(p.scale);
    arrays[count + c] = static_cast<C>(p.zero_point);
  }
}

Status run_codes(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<CodeState>(call);
  std::byte* arrays = state.arrays.memory(call);
  if (state.arrays.derives(phase)) {
    if (Status status = state.quantizes ? state.codes.check(call) : Status(); !status.ok()) return status;
    if (state.piece.wide) {
      derive_codes(state, call, reinterpret_cast<double*>(arrays));
    } else {
      derive_codes(state, call, reinterpret_cast<float*>(arrays));
    }
  }
  if (state.arrays.works(phase))
    state.piece.run(state.walk, state.ends, arrays, call.in[0].data, call.out[0].data, state.walk.piece_begin(piece),
                    state.walk.piece_end(piece));
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cpu_quantize_per_tensor_simd{"simd", accept_simd, torch::prepare_quantize<QuantizePerTensor>,
                                                 torch::run_codes};
extern const Kernel cpu_quantize_per_channel_simd{"simd", accept_simd, torch::prepare_quantize<QuantizePerChannel>,
                                                  torch::run_codes};
extern const Kernel cpu_dequantize_per_tensor_simd{"simd", accept_simd, torch::prepare_dequantize<DequantizePerTensor>,
                                                   torch::run_codes};
extern const Kernel cpu_dequantize_per_channel_simd{"simd", accept_simd,
                                                    torch::prepare_dequantize<DequantizePerChannel>, torch::run_codes};

}  // namespace halfstep::kernels
#endif
