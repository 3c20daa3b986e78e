// Softmax and normalizations of rows of codes in training, on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/normalized_rows.cpp"
#include <algorithm>
#include <memory>
#include <span>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/rows.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/rows-inl.h"

#ifndef HALFSTEP_KERNELS_TRAINING_NORMALIZED_ROWS
#define HALFSTEP_KERNELS_TRAINING_NORMALIZED_ROWS
namespace halfstep::kernels::training {

/// A row of codes and its results.
struct CodeRow {
  int64_t count = 0;
  DType x_type = DType::u8, out_type = DType::u8;
  const void* x = nullptr;
  int32_t x_zero_point = 0, y_zero_point = 0;
  arith::Clamp clamp;
  int32_t* line = nullptr;  ///< codes as int32, followed by kSpareLanes lanes
  float* floats = nullptr;  ///< float values, followed by kSpareLanes lanes
  void* out = nullptr;
  int32_t* unclamped = nullptr;  ///< present together with `real`, or absent
  float* real = nullptr;
};

struct NormRow {
  int64_t epsilon = 0;  ///< epsilon and the next four fields are those of arith::RowNorm
  int32_t guard = 0, shift = 1;
  const int32_t* factor = nullptr;
  const int64_t* factor_bias = nullptr;
  arith::ShiftRounding rounding = arith::ShiftRounding::half_up;
  bool centered = true;
  const float* scale = nullptr;
  const float* bias = nullptr;  ///< null if there is none
};

struct NormalizedRows {
  void (*softmax)(const CodeRow& row, const arith::Exponentials& exponentials, arith::Multiplier factor);
  void (*norm)(const CodeRow& row, const NormRow& norm);
};

}  // namespace halfstep::kernels::training
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

using namespace codes::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): vectors and their types
using HalfFloats = hn::Rebind<float, Doubles>;

void load(const CodeRow& row) {
  if (is_wide(row.x_type)) return load_row<uint16_t>(row.x_type, row.x, row.count, row.line);
  load_row<uint8_t>(row.x_type, row.x, row.count, row.line);
}

void store(const CodeRow& row) {
  if (is_wide(row.out_type)) {
    store_row<uint16_t>(row.out_type, row.clamp, row.line, row.count, row.out);
  } else {
    store_row<uint8_t>(row.out_type, row.clamp, row.line, row.count, row.out);
  }
  if (row.unclamped == nullptr) return;
  std::copy_n(row.line, row.count, row.unclamped);
  std::copy_n(row.floats, row.count, row.real);
}

void softmax_row(const CodeRow& row, const arith::Exponentials& exp, arith::Multiplier factor) {
  const Doubles d;
  load(row);
  const int64_t sum = exponentials(exp.fine.data(), exp.coarse.data(), is_wide(row.x_type), row.count, row.line);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const DoubleVec part = hn::Set(d, 1.0 / static_cast<double>(sum));
  for (int64_t i = 0; row.real != nullptr && i < row.count; i += step) {
    const DoubleVec one = hn::PromoteTo(d, hn::LoadU(HalfInts(), row.line + i));
    hn::StoreU(hn::DemoteTo(HalfFloats(), one * part), HalfFloats(), row.floats + i);
  }
  softmax_codes(row.line, row.count, sum, factor, row.y_zero_point, row.line);
  store(row);
}

void norm_row(const CodeRow& row, const NormRow& norm) {
  const Doubles d;
  load(row);
  const RowSums sums = sums_of(row.x_zero_point, row.count, row.line);
  const auto root = arith::RowRoot::of(row.count, sums.sum, sums.squares, norm.centered, norm.epsilon, norm.guard);
  const NormLine line{norm.factor, norm.factor_bias, norm.shift, norm.rounding, row.y_zero_point};
  const DoubleVec unit = hn::Set(d, std::ldexp(1.0, -arith::kNormalizedBits));
  norm_codes(root, line, row.count, row.line, [&](int64_t i, DoubleVec normalized) {
    if (row.real == nullptr) return;
    const auto valid = hn::FirstN(HalfFloats(), static_cast<size_t>(row.count - i));
    const auto of = [&](const float* numbers_of) {
      if (numbers_of == nullptr) return hn::Zero(d);
      return hn::PromoteTo(d, hn::MaskedLoad(valid, HalfFloats(), numbers_of + i));
    };
    const DoubleVec scaled = normalized * unit * of(norm.scale);
    hn::StoreU(hn::DemoteTo(HalfFloats(), scaled + of(norm.bias)), HalfFloats(), row.floats + i);
  });
  store(row);
}

const NormalizedRows& normalized_rows() {
  static constexpr NormalizedRows all = {softmax_row, norm_row};
  return all;
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

template <class Typed>
struct State : RuleState<Typed> {
  State(const Problem& problem, Rows lie)
      : RuleState<Typed>(problem.attributes), rows(lie), kernels(HS_SIMD_CHOOSE(problem.level, normalized_rows)()) {}

  size_t line_bytes() const { return aligned(static_cast<size_t>(rows.extent + kSpareLanes) * sizeof(int32_t)); }

  Rows rows;
  const NormalizedRows& kernels;
};

template <class Typed>
Plan plan_of(const Problem& problem, const Rows& rows) {
  auto state = std::make_shared<State<Typed>>(problem, rows);
  const size_t lines = 2 * state->line_bytes();
  return {.state = std::move(state), .worker_scratch = lines, .phases = {rows.pieces()}};
}

/// Calls visit(row) for the rows of a piece.
template <class Typed, class Visit>
void for_rows(const Call& call, const State<Typed>& state, int64_t piece, Visit&& visit) {
  const Operand x(call, Typed::in::x, Typed::in::x_scale, Typed::in::x_zero_point);
  const Target<Typed> y(call, state.rule);
  const View &out = call.out[Typed::out::out_], &unclamped = call.out[Typed::out::unclamped];
  CodeRow row;
  row.count = state.rows.extent;
  row.x_type = x.view.dtype;
  row.out_type = out.dtype;
  row.x_zero_point = x.zero_point;
  row.y_zero_point = y.zero_point;
  row.clamp = y.range;
  row.line = reinterpret_cast<int32_t*>(call.worker_scratch);
  row.floats = reinterpret_cast<float*>(call.worker_scratch + state.line_bytes());
  state.rows.for_piece(piece, [&](int64_t index) {
    const int64_t first = index * row.count;
    row.x = element_of(x.view, first);
    row.out = element_of(out, first);
    if (unclamped.present()) {
      row.unclamped = unclamped.as<int32_t>() + first;
      row.real = call.out[Typed::out::real].template as<float>() + first;
    }
    visit(row);
  });
}

Rows softmax_rows(const Problem& problem) {
  const QuantizedSoftmax a(problem.attributes);
  return Rows::of(problem.in[QuantizedSoftmax::in::x]->dims, a.axis, a.flattened);
}

Verdict accept_softmax(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  if (softmax_rows(problem).stride != 1) return refuse(errors::kernel_needs_layout("rows of neighbouring elements"));
  if (shift_rounding(QuantizedSoftmax(problem.attributes)) != arith::ShiftRounding::half_up)
    return refuse(errors::kernel_is_for_other_options("another rounding of shifts", "half up"));
  return accept();
}

/// Phase 0 computes the tables of exponentials in scratch.
Plan prepare_softmax(const Problem& problem) {
  Plan plan = plan_of<QuantizedSoftmax>(problem, softmax_rows(problem));
  plan.scratch = sizeof(arith::Exponentials);
  plan.phases.insert(plan.phases.begin(), 1);
  return plan;
}

Status run_softmax(const Call& call, int phase, int64_t piece) {
  using In = QuantizedSoftmax::in;
  const auto& state = state_of<State<QuantizedSoftmax>>(call);
  auto* exponentials = reinterpret_cast<arith::Exponentials*>(call.scratch);
  if (phase == 0) {
    std::construct_at(exponentials, *call.in[In::x_scale].as<const float>());
    return {};
  }
  arith::Requantizer factor;
  const float y_scale = *call.in[In::y_scale].as<const float>();
  if (Status status = state.rule.for_quotient(y_scale, factor); !status.ok()) return status;
  const auto& fixed = std::get<arith::FixedScale>(factor);
  for_rows(call, state, piece, [&](const CodeRow& row) { state.kernels.softmax(row, *exponentials, fixed.positive); });
  return {};
}

template <class Typed>
Rows norm_rows(const Problem& problem) {
  return Rows::of(problem.in[Typed::in::x]->dims, -1);
}

Verdict accept_norm(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return accept_filled(problem);
}

/// Layout of scratch: numbers that phase 0 derives for a call, then a factor and a bias for each element of a row.
struct DerivedNorm {
  int64_t epsilon;
  int32_t guard, shift;

  static size_t bytes(int64_t extent) {
    return sizeof(DerivedNorm) + static_cast<size_t>(extent) * (sizeof(int64_t) + sizeof(int32_t));
  }
  int64_t* bias() { return reinterpret_cast<int64_t*>(this + 1); }
  int32_t* factor(int64_t extent) { return reinterpret_cast<int32_t*>(bias() + extent); }
};

template <class Typed>
Plan prepare_norm(const Problem& problem) {
  const Rows rows = norm_rows<Typed>(problem);
  Plan plan = plan_of<Typed>(problem, rows);
  plan.scratch = DerivedNorm::bytes(rows.extent);
  plan.phases.insert(plan.phases.begin(), 1);
  return plan;
}

template <class Typed>
Status derive_norm(const Call& call, double epsilon, DerivedNorm& derived) {
  using In = typename Typed::in;
  const ConstView& scale = call.in[In::scale];
  const arith::NormNumbers given{{scale.as<const float>(), static_cast<size_t>(scale.size())},
                                 bias_of<Typed>(call),
                                 epsilon,
                                 *call.in[In::x_scale].template as<const float>(),
                                 *call.in[In::y_scale].template as<const float>(),
                                 is_wide(call.in[In::x].dtype) ? 16 : 8};
  arith::RowNorm numbers;
  if (Status status = arith::derive(given, numbers); !status.ok()) return status;
  derived = {numbers.epsilon, numbers.guard, numbers.shift};
  std::copy(numbers.bias.begin(), numbers.bias.end(), derived.bias());
  std::copy(numbers.factor.begin(), numbers.factor.end(), derived.factor(scale.size()));
  return {};
}

template <class Typed, bool centered>
Status run_norm(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<State<Typed>>(call);
  auto& derived = *reinterpret_cast<DerivedNorm*>(call.scratch);
  if (phase == 0) return derive_norm<Typed>(call, state.attributes.epsilon, derived);
  const std::span<const float> bias = bias_of<Typed>(call);
  const NormRow norm{.epsilon = derived.epsilon,
                     .guard = derived.guard,
                     .shift = derived.shift,
                     .factor = derived.factor(state.rows.extent),
                     .factor_bias = derived.bias(),
                     .rounding = state.rule.rounding,
                     .centered = centered,
                     .scale = call.in[Typed::in::scale].template as<const float>(),
                     .bias = bias.empty() ? nullptr : bias.data()};
  for_rows(call, state, piece, [&](const CodeRow& row) { state.kernels.norm(row, norm); });
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_softmax_simd{"simd", training::accept_softmax, training::prepare_softmax,
                                               training::run_softmax};
extern const Kernel cpu_quantized_layer_norm_simd{"simd", training::accept_norm,
                                                  training::prepare_norm<QuantizedLayerNorm>,
                                                  training::run_norm<QuantizedLayerNorm, true>};
extern const Kernel cpu_quantized_rms_norm_simd{"simd", training::accept_norm, training::prepare_norm<QuantizedRmsNorm>,
                                                training::run_norm<QuantizedRmsNorm, false>};

}  // namespace halfstep::kernels
#endif
