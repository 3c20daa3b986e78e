// Sum of two values of codes on vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/quantized/cpu/add.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/quantize/channels.h"
#include "halfstep/kernels/quantized/cpu/rows.h"
#include "halfstep/kernels/quantized/rule.h"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/quantized/cpu/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::quantized::HWY_NAMESPACE {

/// One of the two, element by element.
template <class Code>
struct Summand {
  const Code* codes;
  int32_t zero_point;
  float scale;
  int32_t multiplier;

  IntVec code(int64_t i) const { return hn::PromoteTo(Ints(), hn::LoadU(hn::Rebind<Code, Ints>(), codes + i)); }
  IntVec steps(int64_t i) const { return code(i) - hn::Set(Ints(), zero_point); }
};

/// Steps times scale in float32: arith::real_of, as long as code and zero point are below 2^24.
inline hn::Vec<Floats> real_of(IntVec steps, float scale) {
  return hn::ConvertTo(Floats(), steps) * hn::Set(Floats(), scale);
}

template <class A, class B>
IntVec fixed_code(const SumRow& row, const Summand<A>& a, const Summand<B>& b, int64_t i) {
  const Halves left = product(a.steps(i), a.multiplier), right = product(b.steps(i), b.multiplier);
  const auto& sum = std::get<arith::FixedSum>(row.sum);
  return round_shift({left.even + right.even, left.odd + right.odd}, sum.factors.shift, sum.rounding, sum.y_zero_point);
}

template <class A, class B>
IntVec unclamped_sum(const SumRow& row, const Summand<A>& a, const Summand<B>& b, int64_t i) {
  if (const auto* sum = std::get_if<arith::FloatSum>(&row.sum))
    return whole_steps(float_sum(*sum, a.code(i), b.code(i)));
  if (const auto* sum = std::get_if<arith::EngineSum>(&row.sum)) return engine_sum(*sum, a.code(i), b.code(i));
  return fixed_code(row, a, b, i);
}

template <class A, class B, class Out>
void add_lanes(const SumRow& row, const Summand<A>& a, const Summand<B>& b, int64_t i, Out* out, int32_t* unclamped,
               float* real, bool stream) {
  const Ints d;
  const IntVec code = unclamped_sum(row, a, b, i);
  const IntVec clamped = hn::Min(hn::Max(code, hn::Set(d, row.clamp.low)), hn::Set(d, row.clamp.high));
  hn::StoreU(hn::DemoteTo(hn::Rebind<Out, Ints>(), clamped), hn::Rebind<Out, Ints>(), out);
  if (unclamped == nullptr) return;
  put(code, d, unclamped, stream);
  put(real_of(a.steps(i), a.scale) + real_of(b.steps(i), b.scale), Floats(), real, stream);
}

template <class A, class B, class Out>
void add_row(const SumRow& row) {
  const auto* fixed = std::get_if<arith::FixedSum>(&row.sum);
  const arith::MultiplierPair factors = fixed == nullptr ? arith::MultiplierPair() : fixed->factors;
  const arith::SumScales& scales = row.scales;
  Summand<A> a{static_cast<const A*>(row.a), scales.a_zero_point, scales.a, factors.a};
  Summand<B> b{static_cast<const B*>(row.b), scales.b_zero_point, scales.b, factors.b};
  auto* out = static_cast<Out*>(row.out);
  const bool all = row.unclamped != nullptr;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Ints()));
  const bool stream = may_stream(row.past_caches, row.unclamped) && may_stream(row.past_caches, row.real);
  int64_t i = 0;
  for (; i + lanes <= row.size; i += lanes)
    add_lanes(row, a, b, i, out + i, all ? row.unclamped + i : nullptr, all ? row.real + i : nullptr, stream);
  const int64_t left = row.size - i;
  if (left == 0) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  A a_rest[kMostLanes] = {};
  B b_rest[kMostLanes] = {};
  Out out_rest[kMostLanes];
  int32_t unclamped_rest[kMostLanes];
  float real_rest[kMostLanes];
  std::copy_n(a.codes + i, left, a_rest);
  std::copy_n(b.codes + i, left, b_rest);
  a.codes = a_rest;
  b.codes = b_rest;
  add_lanes(row, a, b, 0, out_rest, unclamped_rest, real_rest, false);
  std::copy_n(out_rest, left, out + i);
  if (!all) return;
  std::copy_n(unclamped_rest, left, row.unclamped + i);
  std::copy_n(real_rest, left, row.real + i);
}

using AddRow = void (*)(const SumRow& row);

template <class A, class B>
AddRow add_row_to(DType out) {
  return out == DType::u8 ? &add_row<A, B, uint8_t> : &add_row<A, B, uint16_t>;
}

AddRow add_row_of(DType a, DType b, DType out) {
  if (a == DType::u8) return b == DType::u8 ? add_row_to<uint8_t, uint8_t>(out) : add_row_to<uint8_t, uint16_t>(out);
  return b == DType::u8 ? add_row_to<uint16_t, uint8_t>(out) : add_row_to<uint16_t, uint16_t>(out);
}

}  // namespace halfstep::kernels::quantized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace quantized {
namespace {

using In = QuantizedAdd::in;
using Out = QuantizedAdd::out;

struct AddState {
  RequantizeRule rule;
  void (*row)(const SumRow& row);
};

Plan prepare_add(const Problem& problem) {
  const auto choose = HS_SIMD_CHOOSE(problem.level, add_row_of);
  const Type& out = *problem.out[Out::out_];
  const auto row = choose(problem.in[In::a]->dtype, problem.in[In::b]->dtype, out.dtype);
  return {.state = std::make_shared<AddState>(AddState{requantize_rule(QuantizedAdd(problem.attributes)), row}),
          .phases = {pieces_of(count_elements(out.dims))}};
}

const void* code_at(const ConstView& view, int64_t i) {
  return view.as<const std::byte>() + static_cast<size_t>(i) * size_of(view.dtype);
}

Status run_add(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AddState>(call);
  const View& out = call.out[Out::out_];
  const int64_t begin = piece * kPieceElements;
  SumRow row;
  row.size = std::min(out.size() - begin, kPieceElements);
  row.a = code_at(call.in[In::a], begin);
  row.b = code_at(call.in[In::b], begin);
  const auto scale = [&](int port) { return *call.in[port].as<const float>(); };
  const auto zero_point = [&](int port) { return *call.in[port].as<const int32_t>(); };
  row.scales = {scale(In::a_scale),           scale(In::b_scale),           scale(In::y_scale),
                zero_point(In::a_zero_point), zero_point(In::b_zero_point), zero_point(In::y_zero_point)};
  row.clamp = state.rule.clamp(row.scales.y, row.scales.y_zero_point);
  if (Status status = state.rule.for_sum(row.scales, row.sum); !status.ok()) return status;
  row.out = out.as<std::byte>() + static_cast<size_t>(begin) * size_of(out.dtype);
  if (call.out[Out::unclamped].present()) {
    row.unclamped = call.out[Out::unclamped].as<int32_t>() + begin;
    row.real = call.out[Out::real].as<float>() + begin;
    row.past_caches = past_caches(out.size());
  }
  state.row(row);
  if (row.past_caches) hwy::FlushStream();
  return {};
}

}  // namespace
}  // namespace quantized

const Kernel cpu_quantized_add_simd = {"simd", accept_simd, quantized::prepare_add, quantized::run_add};

}  // namespace halfstep::kernels
#endif
