// qlinear_add on vectors, for operands of equal extents or one operand that is repeated by channel.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/onnx/cpu/add.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <limits>
#include <memory>
#include <optional>

#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/cpu/rule-inl.h"
#include "halfstep/engine/kernels/quantizers/onnx/table.h"

#ifndef HALFSTEP_KERNELS_ONNX_CPU_ADD_ONCE
#define HALFSTEP_KERNELS_ONNX_CPU_ADD_ONCE
namespace halfstep::kernels::onnx {

/// The operand that is repeated by channel. Each channel contributes a itself, or the sum of b and the zero points.
enum class Repeated { neither, a, b };

/// Adds elements [begin, end).
using AddElements = void (*)(const elements::Walk& walk, const arith::FloatSum& rule, const float* by_channel,
                             const void* a, const void* b, void* y, int64_t begin, int64_t end);

}  // namespace halfstep::kernels::onnx
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::onnx::HWY_NAMESPACE {

template <class Code>
struct CodeSum {
  static constexpr CodeRange kRange = {std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max()};
  arith::FloatSum rule;

  /// b and the zero points, in steps of the result.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V addend(D d, V b) const {
    return hn::MulAdd(b, hn::Set(d, rule.b_ratio), hn::Set(d, rule.offset));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V codes(D d, V a, V addend) const {
    return saturated_code(d, hn::MulAdd(a, hn::Set(d, rule.a_ratio), addend), hn::Zero(d), kRange);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 0>&, V a, V b) const {
    return codes(d, a, addend(d, b));
  }
};

template <class Code>
struct CodeSumByA : CodeSum<Code> {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 1>& a, V b) const {
    return this->codes(d, a[0], this->addend(d, b));
  }
};

template <class Code>
struct CodeSumByB : CodeSum<Code> {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 1>& addend, V a) const {
    return this->codes(d, a, addend[0]);
  }
};

template <class Code, Repeated kRepeated>
void add_elements(const elements::Walk& walk, const arith::FloatSum& rule, const float* by_channel, const void* a,
                  const void* b, void* y, int64_t begin, int64_t end) {
  const auto *left = static_cast<const Code*>(a), *right = static_cast<const Code*>(b);
  auto* dst = static_cast<Code*>(y);
  if constexpr (kRepeated == Repeated::neither) {
    simd::apply<float, 0>(walk, CodeSum<Code>{rule}, {}, begin, end, dst, left, right);
  } else if constexpr (kRepeated == Repeated::a) {
    simd::apply<float, 1>(walk, CodeSumByA<Code>{{rule}}, {by_channel}, begin, end, dst, right);
  } else {
    simd::apply<float, 1>(walk, CodeSumByB<Code>{{rule}}, {by_channel}, begin, end, dst, left);
  }
}

template <class Code>
AddElements choose_repeated(Repeated repeated) {
  if (repeated == Repeated::neither) return &add_elements<Code, Repeated::neither>;
  return repeated == Repeated::a ? &add_elements<Code, Repeated::a> : &add_elements<Code, Repeated::b>;
}

AddElements choose_add(DType dtype, Repeated repeated) {
  return dtype == DType::i8 ? choose_repeated<int8_t>(repeated) : choose_repeated<uint8_t>(repeated);
}

}  // namespace halfstep::kernels::onnx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace onnx {
namespace {

using Op = QlinearAdd;

/// The channels of `whole` along which `part` repeats its elements, or nothing if these are not neighbouring axes.
std::optional<Channels> channels_of(const Dims& part, const Dims& whole) {
  if (part.size() > whole.size()) return std::nullopt;
  const size_t shift = whole.size() - part.size();
  Channels channels{1, 1, 1};
  bool inside = false, after = false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool varies = i >= shift && part[i - shift] != 1;
    if (varies && (after || part[i - shift] != whole[i])) return std::nullopt;
    after = after || (inside && !varies && whole[i] != 1);
    inside = inside || varies;
    (varies ? channels.count : inside ? channels.run : channels.outer) *= whole[i];
  }
  return channels;
}

struct AddForm {
  Repeated repeated;
  Channels channels;
};

std::optional<AddForm> form_of(const Problem& problem) {
  const Dims &a = problem.in[Op::in::a]->dims, &b = problem.in[Op::in::b]->dims;
  const Dims& y = problem.out[Op::out::y]->dims;
  const int64_t size = count_elements(y);
  const bool whole_a = count_elements(a) == size, whole_b = count_elements(b) == size;
  if (whole_a && whole_b) return AddForm{Repeated::neither, {1, 1, size}};
  if (!whole_a && !whole_b) return std::nullopt;
  const auto channels = channels_of(whole_a ? b : a, y);
  if (!channels) return std::nullopt;
  return AddForm{whole_a ? Repeated::b : Repeated::a, *channels};
}

struct AddState {
  elements::Walk walk;
  Repeated repeated;
  AddElements add;
};

Verdict accept(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return form_of(problem) ? Verdict::accepted()
                          : refuse(errors::kernel_needs_layout("operands that are broadcast along neighbouring axes"));
}

/// Scratch: the contribution of each channel.
Plan prepare(const Problem& problem) {
  const AddForm form = *form_of(problem);
  const Type& y = *problem.out[Op::out::y];
  const elements::Walk walk(form.channels, count_elements(y.dims));
  const bool repeats = form.repeated != Repeated::neither;
  return {.state = std::make_shared<AddState>(walk, form.repeated,
                                              HS_SIMD_CHOOSE(problem.level, choose_add)(y.dtype, form.repeated)),
          .scratch = repeats ? static_cast<size_t>(form.channels.count) * sizeof(float) : 0,
          .phases = repeats ? std::vector{int64_t{1}, walk.pieces()} : std::vector{walk.pieces()}};
}

void find_contributions(const Call& call, const AddState& state, const arith::FloatSum& rule, float* by_channel) {
  const ConstView& codes = call.in[state.repeated == Repeated::a ? Op::in::a : Op::in::b];
  for (int64_t c = 0; c < state.walk.channels.count; ++c) {
    const auto code = static_cast<float>(code_at(codes, c));
    by_channel[c] = state.repeated == Repeated::a ? code : std::fma(code, rule.b_ratio, rule.offset);
  }
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<AddState>(call);
  const arith::FloatSum rule = add_rule(call);
  auto* by_channel = reinterpret_cast<float*>(call.scratch);
  if (state.repeated != Repeated::neither && phase == 0) {
    find_contributions(call, state, rule, by_channel);
  } else {
    state.add(state.walk, rule, by_channel, call.in[Op::in::a].data, call.in[Op::in::b].data, call.out[Op::out::y].data,
              state.walk.piece_begin(piece), state.walk.piece_end(piece));
  }
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel cpu_qlinear_add_simd{"simd", onnx::accept, onnx::prepare, onnx::run};

}  // namespace halfstep::kernels
#endif
