// Elementwise product of two values of one-byte codes, on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/mul.cpp"
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/training/cpu/product.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/training/cpu/stream-inl.h"

#ifndef HALFSTEP_KERNELS_TRAINING_MUL
#define HALFSTEP_KERNELS_TRAINING_MUL
namespace halfstep::kernels::training {

struct Factor {
  DType type = DType::u8;
  const uint8_t* codes = nullptr;
  bool moves = true;  ///< otherwise one code for the whole row
  float scale = 1.0F;
  int32_t zero_point = 0;
};

struct FactorRow : ProductResult {
  int64_t size = 0;
  Factor a, b;
};

}  // namespace halfstep::kernels::training
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

inline constexpr int64_t kMostFactors = HWY_MAX_BYTES / 4;

/// The codes of a factor for the elements from i on. `left` elements remain.
IntVec factor_codes(const Factor& factor, const CodeLanes<uint8_t>& lanes, int64_t i, int64_t left) {
  if (factor.moves && left >= static_cast<int64_t>(hn::Lanes(Ints()))) return lanes.load(factor.codes + i);
  uint8_t some[kMostFactors] = {};
  if (factor.moves) {
    std::copy_n(factor.codes + i, left, some);
  } else {
    std::fill_n(some, kMostFactors, *factor.codes);
  }
  return lanes.load(some);
}

template <class Word>
void multiply_row(const FactorRow& row) {
  const Ints d;
  const CodeLanes<uint8_t> a_lanes(row.a.type), b_lanes(row.b.type);
  const CodeLanes<Word> out_lanes(row.out_type);
  const IntVec low = hn::Set(d, row.clamp.low), high = hn::Set(d, row.clamp.high);
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto* out = static_cast<Word*>(row.out);
  with_lanes(row.requantizer, row.zero_point, [&](const auto& code_of) {
    for (int64_t i = 0; i < row.size; i += step) {
      const int64_t left = std::min(step, row.size - i);
      const IntVec a = factor_codes(row.a, a_lanes, i, left), b = factor_codes(row.b, b_lanes, i, left);
      const IntVec code = code_of((a - hn::Set(d, row.a.zero_point)) * (b - hn::Set(d, row.b.zero_point)));
      Word words[kMostFactors];
      out_lanes.store(hn::Min(hn::Max(code, low), high), words);
      std::copy_n(words, left, out + i);
      if (row.unclamped == nullptr) continue;
      const auto valid = hn::FirstN(d, static_cast<size_t>(left));
      hn::BlendedStore(code, valid, d, row.unclamped + i);
      const FloatVec real = real_of(a, row.a.zero_point, row.a.scale) * real_of(b, row.b.zero_point, row.b.scale);
      hn::BlendedStore(real, hn::RebindMask(Floats(), valid), Floats(), row.real + i);
    }
  });
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

/// In shorter runs, the run costs more than its elements.
constexpr int64_t kShortestRun = 16;

struct MulState : RuleState<QuantizedMul> {
  MulState(const Problem& problem, BroadcastRuns of, void (*chosen)(const FactorRow& row))
      : RuleState(problem.attributes), runs(std::move(of)), row(chosen) {}
  int64_t pieces() const { return pieces_of(runs.length()); }  // pieces of a run
  BroadcastRuns runs;
  void (*row)(const FactorRow& row);
};

BroadcastRuns mul_runs(const Problem& problem) {
  return {problem.in[QuantizedMul::in::a]->dims, problem.in[QuantizedMul::in::b]->dims, problem.out[0]->dims};
}

Verdict accept_mul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  for (const int port : {QuantizedMul::in::a, QuantizedMul::in::b}) {
    if (is_wide(problem.in[port]->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(problem.in[port]->dtype), "codes of one byte"));
  }
  if (mul_runs(problem).length() < kShortestRun)
    return refuse(
        errors::kernel_is_for_other_sizes("short runs", fmt::format("runs of at least {} elements", kShortestRun)));
  return accept();
}

Plan prepare_mul(const Problem& problem) {
  const auto row = is_wide(problem.out[0]->dtype) ? HS_SIMD_CHOOSE(problem.level, multiply_row<uint16_t>)
                                                  : HS_SIMD_CHOOSE(problem.level, multiply_row<uint8_t>);
  const auto state = std::make_shared<MulState>(problem, mul_runs(problem), row);
  return {.state = state, .phases = {state->runs.count() * state->pieces()}};
}

Factor factor_of(const Operand& operand, bool moves, int64_t first) {
  return {operand.view.dtype, operand.view.as<const uint8_t>() + first, moves, operand.scale, operand.zero_point};
}

Status run_mul(const Call& call, int, int64_t piece) {
  using In = QuantizedMul::in;
  const auto& state = state_of<MulState>(call);
  const BroadcastRuns& runs = state.runs;
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  const auto run = runs.run(piece / state.pieces());
  const int64_t begin = piece % state.pieces() * kPieceElements;
  FactorRow row;
  if (Status status = derive<QuantizedMul>(call, state.rule, a, b, run.result + begin, row); !status.ok())
    return status;
  row.size = std::min(kPieceElements, runs.length() - begin);
  row.a = factor_of(a, runs.moves_a(), run.a + (runs.moves_a() ? begin : 0));
  row.b = factor_of(b, runs.moves_b(), run.b + (runs.moves_b() ? begin : 0));
  state.row(row);
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_mul_simd{"simd", training::accept_mul, training::prepare_mul, training::run_mul};

}  // namespace halfstep::kernels
#endif
