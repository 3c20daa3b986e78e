// Elementwise products of two values of one-byte codes, on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/mul.cpp"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "halfstep/engine/kernels/codes/integer/pieces.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/byte_table.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_MUL
#define HALFSTEP_KERNELS_INTEGER_MUL
namespace halfstep::kernels::integer {

/// A part of a run.
struct MulCall {
  const IntegerMul* attributes;
  const arith::Requantizer* requantizer;
  const void *a, *b;
  void* out;
  bool moves_a, moves_b;
  DType types[3];  ///< types of a, b and out
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::CodeLanes;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;

template <class Out>
void multiply_run(const MulCall& call, int64_t count) {
  constexpr size_t kMostLanes = HWY_MAX_BYTES / 4;
  const Ints d;
  const IntegerMul& t = *call.attributes;
  const CodeLanes<uint8_t> a_lanes(call.types[0]), b_lanes(call.types[1]);
  const CodeLanes<Out> out_lanes(call.types[2]);
  const IntVec low = hn::Set(d, static_cast<int32_t>(t.code_min)), high = hn::Set(d, static_cast<int32_t>(t.code_max));
  const IntVec a_zero = hn::Set(d, static_cast<int32_t>(t.a_zero_point));
  const IntVec b_zero = hn::Set(d, static_cast<int32_t>(t.b_zero_point));
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto* a = static_cast<const uint8_t*>(call.a);
  const auto* b = static_cast<const uint8_t*>(call.b);
  auto* out = static_cast<Out*>(call.out);
  codes::HWY_NAMESPACE::with_lanes(*call.requantizer, static_cast<int32_t>(t.y_zero_point), [&](const auto& code_of) {
    for (int64_t i = 0; i < count; i += step) {
      const int64_t left = std::min(step, count - i);
      const auto steps_of = [&](const uint8_t* from, bool moves, const CodeLanes<uint8_t>& lanes, IntVec zero) {
        uint8_t some[kMostLanes] = {};
        if (moves && left == step) return lanes.load(from + i) - zero;
        if (moves)
          std::copy_n(from + i, left, some);
        else
          std::fill_n(some, step, *from);
        return lanes.load(some) - zero;
      };
      const IntVec acc = steps_of(a, call.moves_a, a_lanes, a_zero) * steps_of(b, call.moves_b, b_lanes, b_zero);
      const IntVec codes = hn::Min(hn::Max(code_of(acc), low), high);
      if (left == step) {
        out_lanes.store(codes, out + i);
      } else {
        Out rest[kMostLanes];
        out_lanes.store(codes, rest);
        std::copy_n(rest, left, out + i);
      }
    }
  });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Products of a piece, a few microseconds of work.
constexpr int64_t kProducts = int64_t{1} << 14;
/// In shorter runs, the run costs more than its elements.
constexpr int64_t kShortest = 4;
/// Shorter runs are copied side by side, so that a call has this many products.
constexpr int64_t kTogether = 256, kLongEnough = 64;
/// From this length on, bytes are looked up in a table of the 256 products with one code.
constexpr int64_t kTableFrom = 1024;

struct MulState {
  IntegerMul attributes;
  arith::Requantizer requantizer;
  void (*run)(const MulCall& call, int64_t count);
  BroadcastRuns runs;
  int64_t pieces;       ///< pieces of a run, or 0 if runs are copied side by side
  LookUpBytes look_up;  ///< null if there is no such table
};

BroadcastRuns mul_runs(const Problem& problem) {
  return {problem.in[IntegerMul::in::a]->dims, problem.in[IntegerMul::in::b]->dims, problem.out[0]->dims};
}

Verdict accept_mul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  const IntegerMul a(problem.attributes);
  for (const int port : {IntegerMul::in::a, IntegerMul::in::b}) {
    if (is_wide(problem.in[port]->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(problem.in[port]->dtype), "codes of one byte"));
  }
  for (const int64_t zero_point : {a.a_zero_point, a.b_zero_point}) {
    if (zero_point < -128 || zero_point > 255)
      return refuse(errors::kernel_is_for_other_zero_points(zero_point, "-128 to 255"));
  }
  if (mul_runs(problem).length() < kShortest)
    return refuse(
        errors::kernel_is_for_other_sizes("short runs", fmt::format("runs of at least {} elements", kShortest)));
  return accept();
}

Plan prepare_mul(const Problem& problem) {
  const IntegerMul a(problem.attributes);
  const auto run = is_wide(problem.out[0]->dtype) ? HS_SIMD_CHOOSE(problem.level, multiply_run<uint16_t>)
                                                  : HS_SIMD_CHOOSE(problem.level, multiply_run<uint8_t>);
  const BroadcastRuns runs = mul_runs(problem);
  const bool is_short = runs.length() < kLongEnough;
  const int64_t pieces = is_short ? 0 : ceil_div(runs.length(), kProducts);
  const bool has_table =
      runs.moves_a() && !runs.moves_b() && runs.length() >= kTableFrom && !is_wide(problem.out[0]->dtype);
  const LookUpBytes look_up = has_table ? look_up_bytes(problem.level) : nullptr;
  return {.state = std::make_shared<MulState>(MulState{a, product_requantizer(a), run, runs, pieces, look_up}),
          .phases = {is_short ? ceil_div(runs.count(), kProducts / runs.length()) : runs.count() * pieces}};
}

/// Part of a call, whose operands are at a and b.
MulCall mul_call(const MulState& state, const Call& call, const void* a, const void* b, int64_t result) {
  return {&state.attributes,
          &state.requantizer,
          a,
          b,
          element_of(call.out[0], result),
          state.runs.moves_a(),
          state.runs.moves_b(),
          {call.in[IntegerMul::in::a].dtype, call.in[IntegerMul::in::b].dtype, call.out[0].dtype}};
}

/// A piece of short runs.
void multiply_short_runs(const MulState& state, const Call& call, int64_t piece) {
  const BroadcastRuns& runs = state.runs;
  const int64_t length = runs.length(), per_piece = kProducts / length, together = kTogether / length;
  std::array<uint8_t, kTogether> a, b;
  const auto copy = [&](const ConstView& from, int64_t at, bool moves, uint8_t* to) {
    const uint8_t* codes = from.as<const uint8_t>() + at;
    moves ? std::copy_n(codes, length, to) : std::fill_n(to, length, *codes);
  };
  const int64_t end = std::min(runs.count(), (piece + 1) * per_piece);
  for (int64_t first = piece * per_piece; first < end; first += together) {
    const int64_t count = std::min(together, end - first);
    for (int64_t i = 0; i < count; ++i) {
      const auto run = runs.run(first + i);
      copy(call.in[IntegerMul::in::a], run.a, runs.moves_a(), a.data() + i * length);
      copy(call.in[IntegerMul::in::b], run.b, runs.moves_b(), b.data() + i * length);
    }
    MulCall part = mul_call(state, call, a.data(), b.data(), first * length);
    part.moves_a = part.moves_b = true;
    state.run(part, count * length);
  }
}

Status run_mul(const Call& call, int, int64_t piece) {
  const auto& state = state_of<MulState>(call);
  if (state.pieces == 0) {
    multiply_short_runs(state, call, piece);
    return {};
  }
  const BroadcastRuns& runs = state.runs;
  const auto run = runs.run(piece / state.pieces);
  const int64_t begin = piece % state.pieces * kProducts;
  const int64_t count = std::min(kProducts, runs.length() - begin);
  const ConstView &a = call.in[IntegerMul::in::a], &b = call.in[IntegerMul::in::b];
  MulCall part = mul_call(state, call, element_of(a, run.a + (runs.moves_a() ? begin : 0)),
                          element_of(b, run.b + (runs.moves_b() ? begin : 0)), run.result + begin);
  if (state.look_up == nullptr) {
    state.run(part, count);
    return {};
  }
  std::array<uint8_t, 256> every, table;
  std::iota(every.begin(), every.end(), uint8_t{0});
  const auto* src = static_cast<const uint8_t*>(std::exchange(part.a, every.data()));
  auto* dst = static_cast<uint8_t*>(std::exchange(part.out, table.data()));
  state.run(part, 256);
  state.look_up(table.data(), src, dst, count, false);
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_mul_simd{"simd", integer::accept_mul, integer::prepare_mul, integer::run_mul};

}  // namespace halfstep::kernels
#endif
