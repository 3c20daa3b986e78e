// Sum of two values of codes on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/add.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/training/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

/// Reads and writes the codes of both operands and the result.
template <class A, class B, class Out>
struct SumLanes {
  explicit SumLanes(const SumRow& row) : a(row.a_type), b(row.b_type), out(row.out_type) {}
  CodeLanes<A> a;
  CodeLanes<B> b;
  CodeLanes<Out> out;
};

/// Memory of a vector's results. `unclamped` and `real` are both present or both null.
template <class Out>
struct SumResults {
  Out* out;
  int32_t* unclamped;
  float* real;
  bool stream;
};

template <class Sum, class A, class B, class Out>
HWY_INLINE void add_lanes(const Sum& sum, const SumRow& row, const SumLanes<A, B, Out>& lanes, const A* a_codes,
                          const B* b_codes, const SumResults<Out>& to) {
  const Ints d;
  const IntVec a = lanes.a.load(a_codes), b = lanes.b.load(b_codes);
  const IntVec code = code_of(sum, a, b);
  const IntVec clamped = hn::Min(hn::Max(code, hn::Set(d, row.clamp.low)), hn::Set(d, row.clamp.high));
  lanes.out.store(clamped, to.out);
  if (to.unclamped == nullptr) return;
  put(code, d, to.unclamped, to.stream);
  const arith::SumScales& s = row.scales;
  put(real_of(a, s.a_zero_point, s.a) + real_of(b, s.b_zero_point, s.b), Floats(), to.real, to.stream);
}

/// Takes copies, so that the compiler knows that no store of a code changes them.
template <class Sum, class A, class B, class Out>
void add_all(const Sum sum, const SumRow row) {
  const auto* a = static_cast<const A*>(row.a);
  const auto* b = static_cast<const B*>(row.b);
  auto* out = static_cast<Out*>(row.out);
  const bool all = row.unclamped != nullptr;
  const auto step = static_cast<int64_t>(hn::Lanes(Ints()));
  const SumLanes<A, B, Out> lanes(row);
  const bool stream = may_stream(row.past_caches, row.unclamped) && may_stream(row.past_caches, row.real);
  int64_t i = 0;
  for (; i + step <= row.size; i += step)
    add_lanes(sum, row, lanes, a + i, b + i,
              SumResults<Out>{out + i, all ? row.unclamped + i : nullptr, all ? row.real + i : nullptr, stream});
  const int64_t left = row.size - i;
  if (left == 0) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  A a_rest[kMostLanes] = {};
  B b_rest[kMostLanes] = {};
  Out out_rest[kMostLanes];
  int32_t unclamped_rest[kMostLanes];
  float real_rest[kMostLanes];
  std::copy_n(a + i, left, a_rest);
  std::copy_n(b + i, left, b_rest);
  add_lanes(sum, row, lanes, a_rest, b_rest, SumResults<Out>{out_rest, unclamped_rest, real_rest, false});
  std::copy_n(out_rest, left, out + i);
  if (!all) return;
  std::copy_n(unclamped_rest, left, row.unclamped + i);
  std::copy_n(real_rest, left, row.real + i);
}

template <class A, class B, class Out>
void add_row(const SumRow& row) {
  std::visit([&](const auto& sum) { add_all<std::decay_t<decltype(sum)>, A, B, Out>(sum, row); }, row.sum);
}

using AddRow = void (*)(const SumRow& row);

template <class A, class B>
AddRow add_row_to(DType out) {
  return is_wide(out) ? &add_row<A, B, uint16_t> : &add_row<A, B, uint8_t>;
}

AddRow add_row_of(DType a, DType b, DType out) {
  if (is_wide(a)) return is_wide(b) ? add_row_to<uint16_t, uint16_t>(out) : add_row_to<uint16_t, uint8_t>(out);
  return is_wide(b) ? add_row_to<uint8_t, uint16_t>(out) : add_row_to<uint8_t, uint8_t>(out);
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

using In = QuantizedAdd::in;
using Out = QuantizedAdd::out;

struct AddState {
  RequantizeRule rule;
  bool subtract;
  void (*row)(const SumRow& row);
};

/// Whether the operand has the extents of the result, or repeats as a whole along leading axes.
bool repeats_as_a_whole(const Dims& operand, const Dims& result) {
  auto own = operand.rbegin();
  auto all = result.rbegin();
  while (own != operand.rend() && *own == *all) ++own, ++all;
  return std::all_of(own, operand.rend(), [](int64_t extent) { return extent == 1; });
}

Verdict accept_add(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  for (const int port : {QuantizedAdd::in::a, QuantizedAdd::in::b}) {
    if (!repeats_as_a_whole(problem.in[port]->dims, problem.out[0]->dims))
      return refuse(errors::kernel_needs_layout("operands that are broadcast along leading axes"));
  }
  return accept();
}

Plan prepare_add(const Problem& problem) {
  const auto choose = HS_SIMD_CHOOSE(problem.level, add_row_of);
  const Type& out = *problem.out[Out::out_];
  const auto row = choose(problem.in[In::a]->dtype, problem.in[In::b]->dtype, out.dtype);
  const QuantizedAdd attributes(problem.attributes);
  return {.state = std::make_shared<AddState>(AddState{requantize_rule(attributes), attributes.subtract, row}),
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
  row.a_type = call.in[In::a].dtype;
  row.b_type = call.in[In::b].dtype;
  row.out_type = out.dtype;
  const auto scale = [&](int port) { return *call.in[port].as<const float>(); };
  const auto zero_point = [&](int port) { return *call.in[port].as<const int32_t>(); };
  row.scales = {scale(In::a_scale),           scale(In::b_scale),           scale(In::y_scale),
                zero_point(In::a_zero_point), zero_point(In::b_zero_point), zero_point(In::y_zero_point)};
  if (state.subtract) row.scales.b = -row.scales.b;
  row.clamp = state.rule.clamp(row.scales.y, row.scales.y_zero_point);
  if (Status status = state.rule.for_sum(row.scales, row.sum); !status.ok()) return status;
  const bool keeps_sums = call.out[Out::unclamped].present();
  row.past_caches = keeps_sums && past_caches(out.size());
  const int64_t end = std::min(out.size(), begin + kPieceElements);
  for (int64_t at = begin; at < end; at += row.size) {
    const int64_t a = at % call.in[In::a].size(), b = at % call.in[In::b].size();
    row.size = std::min({end - at, call.in[In::a].size() - a, call.in[In::b].size() - b});
    row.a = code_at(call.in[In::a], a);
    row.b = code_at(call.in[In::b], b);
    row.out = out.as<std::byte>() + static_cast<size_t>(at) * size_of(out.dtype);
    row.unclamped = keeps_sums ? call.out[Out::unclamped].as<int32_t>() + at : nullptr;
    row.real = keeps_sums ? call.out[Out::real].as<float>() + at : nullptr;
    state.row(row);
  }
  if (row.past_caches) hwy::FlushStream();
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_add_simd{"simd", training::accept_add, training::prepare_add, training::run_add};

}  // namespace halfstep::kernels
#endif
