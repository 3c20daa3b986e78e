// Sum of two values of codes on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/add.cpp"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/lane_codes-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_ADD
#define HALFSTEP_KERNELS_INTEGER_ADD
namespace halfstep::kernels::integer {

struct AddCall {
  const IntegerAdd* attributes;
  const void *a, *b;
  void* out;
  DType types[3];  ///< types of a, b and out
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

using codes::HWY_NAMESPACE::code_of;
using codes::HWY_NAMESPACE::CodeLanes;

/// Clamped codes of a sum.
template <class Sum>
struct ClampedSum {
  explicit ClampedSum(const IntegerAdd& t)
      : sum(std::get<Sum>(stored_sum(t))),
        low(hn::Set(Ints(), static_cast<int32_t>(t.code_min))),
        high(hn::Set(Ints(), static_cast<int32_t>(t.code_max))) {}

  IntVec operator()(IntVec a, IntVec b) const { return hn::Min(hn::Max(code_of(sum, a, b), low), high); }

  Sum sum;
  IntVec low, high;
};

template <class Sum, class A, class B, class Out>
void add(const AddCall& call, int64_t begin, int64_t end) {
  const ClampedSum<Sum> sum(*call.attributes);
  const CodeLanes<A> a_lanes(call.types[0]);
  const CodeLanes<B> b_lanes(call.types[1]);
  const CodeLanes<Out> out_lanes(call.types[2]);
  const auto sum_at = [&](const A* a, const B* b, Out* out) {
    out_lanes.store(sum(a_lanes.load(a), b_lanes.load(b)), out);
  };
  const auto* a_src = static_cast<const A*>(call.a);
  const auto* b_src = static_cast<const B*>(call.b);
  auto* dst = static_cast<Out*>(call.out);
  const auto lanes = static_cast<int64_t>(hn::Lanes(Ints()));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) sum_at(a_src + i, b_src + i, dst + i);
  if (i == end) return;
  constexpr size_t kMostLanes = HWY_MAX_BYTES / 4;
  A a_rest[kMostLanes] = {};
  B b_rest[kMostLanes] = {};
  Out rest[kMostLanes];
  std::copy(a_src + i, a_src + end, a_rest);
  std::copy(b_src + i, b_src + end, b_rest);
  sum_at(a_rest, b_rest, rest);
  std::copy_n(rest, end - i, dst + i);
}

/// Adds bytes, as many as a vector holds. Computes byte k of all words at once, for each k.
template <class Sum>
void add_bytes(const AddCall& call, int64_t begin, int64_t end) {
  const ClampedSum<Sum> sum(*call.attributes);
  const Ints d;
  const hn::Repartition<uint8_t, Ints> bytes;
  const hn::Repartition<uint32_t, Ints> words;
  const auto lanes = static_cast<int64_t>(hn::Lanes(bytes));
  const auto* a_src = static_cast<const uint8_t*>(call.a);
  const auto* b_src = static_cast<const uint8_t*>(call.b);
  const auto low_byte = hn::Set(words, 0xFF);
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto a_words = hn::BitCast(words, hn::LoadU(bytes, a_src + i));
    const auto b_words = hn::BitCast(words, hn::LoadU(bytes, b_src + i));
    const auto sum_of = [&](auto a_byte, auto b_byte) {
      return hn::BitCast(words, sum(hn::BitCast(d, a_byte), hn::BitCast(d, b_byte)));
    };
    const auto byte = [&](auto from) { return hn::And(from, low_byte); };
    const auto low =
        hn::Or(sum_of(byte(a_words), byte(b_words)),
               hn::ShiftLeft<8>(sum_of(byte(hn::ShiftRight<8>(a_words)), byte(hn::ShiftRight<8>(b_words)))));
    const auto high =
        hn::Or(hn::ShiftLeft<16>(sum_of(byte(hn::ShiftRight<16>(a_words)), byte(hn::ShiftRight<16>(b_words)))),
               hn::ShiftLeft<24>(sum_of(hn::ShiftRight<24>(a_words), hn::ShiftRight<24>(b_words))));
    hn::StoreU(hn::BitCast(bytes, hn::Or(low, high)), bytes, static_cast<uint8_t*>(call.out) + i);
  }
  add<Sum, uint8_t, uint8_t, uint8_t>(call, i, end);
}

/// arith::FixedSum of one-byte codes with 16-bit products. A multiplier is high * 2^16 + low. From a shift by 17 on,
/// the bits of a * low + b * low below 2^16 do not change a step.
class PairSum {
 public:
  static constexpr int kLeastShift = 17;

  /// Whether the parts fit into 16 bits and all sums into 32, and whether steps that saturate at 16 bits are out of the
  /// range of codes.
  static bool fits(const arith::FixedSum& sum) {
    constexpr int kMostShift = 46;
    constexpr int32_t kFarthest = 1 << 12;
    const auto is_near = [&](int32_t zero_point) { return std::abs(zero_point) <= kFarthest; };
    const auto has_parts = [&](int64_t m) { return std::abs(m) < INT32_MAX - INT16_MAX; };
    return sum.rounding == arith::ShiftRounding::half_up && sum.factors.shift >= kLeastShift &&
           sum.factors.shift <= kMostShift && is_near(sum.a_zero_point) && is_near(sum.b_zero_point) &&
           is_near(sum.y_zero_point) && has_parts(sum.factors.a) && has_parts(sum.factors.b);
  }

  /// Codes are unsigned. Those of a signed type are increased by their `middle`.
  PairSum(const arith::FixedSum& sum, int32_t a_middle, int32_t b_middle) : shift_(sum.factors.shift - 16) {
    const auto low = [](int64_t m) { return static_cast<int16_t>(m); };
    const auto high = [&](int64_t m) { return static_cast<int16_t>((m - low(m)) >> 16); };
    const int64_t a = sum.factors.a, b = sum.factors.b;
    const int32_t a_zero = sum.a_zero_point + a_middle, b_zero = sum.b_zero_point + b_middle;
    high_ = pairs(high(a), high(b));
    low_ = pairs(low(a), low(b));
    before_low_ = hn::Set(Ints(), -(a_zero * low(a) + b_zero * low(b)));
    before_high_ = hn::Set(Ints(), (1 << (shift_ - 1)) - (a_zero * high(a) + b_zero * high(b)));
  }

  /// Steps of pairs of codes, one of a and one of b.
  HWY_INLINE IntVec steps(hn::Vec<Shorts> codes) const {
    IntVec rest = hn::Zero(Ints());  // stays zero on x86
    const IntVec low = hn::ReorderWidenMulAccumulate(Ints(), codes, low_, before_low_, rest);
    const IntVec high = hn::ReorderWidenMulAccumulate(Ints(), codes, high_, before_high_, rest);
    return hn::ShiftRightSame(high + hn::ShiftRight<16>(low), shift_);
  }

 private:
  static hn::Vec<Shorts> pairs(int16_t a, int16_t b) { return hn::OddEven(hn::Set(Shorts(), b), hn::Set(Shorts(), a)); }

  int shift_;
  hn::Vec<Shorts> high_, low_;
  IntVec before_high_, before_low_;
};

/// Adds bytes in pairs, as many as a vector holds.
void add_pairs(const AddCall& call, int64_t begin, int64_t end) {
  using Code = uint8_t;
  const CodeLanes<Code> a_lanes(call.types[0]), b_lanes(call.types[1]), out_lanes(call.types[2]);
  const arith::FixedSum fixed = std::get<arith::FixedSum>(stored_sum(*call.attributes));
  const PairSum sum(fixed, a_lanes.middle, b_lanes.middle);
  const Codes<Code> codes({fixed.y_zero_point, clamp_of(*call.attributes), out_lanes.middle, 1});
  const hn::Rebind<Code, Shorts> half;
  const auto step = static_cast<int64_t>(hn::Lanes(half));
  const auto shorts = [&](const Code* from, Code flip) HWY_ATTR {
    return hn::PromoteTo(Shorts(), hn::Xor(hn::LoadU(half, from), hn::Set(half, flip)));
  };
  const auto* a_src = static_cast<const Code*>(call.a);
  const auto* b_src = static_cast<const Code*>(call.b);
  int64_t i = begin;
  for (; i + 2 * step <= end; i += 2 * step) {
    IntVec steps[4];
    HS_UNROLL for (int k = 0; k < 2; ++k) {
      const auto a = shorts(a_src + i + k * step, a_lanes.flip), b = shorts(b_src + i + k * step, b_lanes.flip);
      steps[2 * k] = sum.steps(hn::InterleaveLower(Shorts(), a, b));
      steps[2 * k + 1] = sum.steps(hn::InterleaveUpper(Shorts(), a, b));
    }
    hn::StoreU(codes.by_halves(steps), Bytes(), static_cast<Code*>(call.out) + i);
  }
  add<arith::FixedSum, Code, Code, Code>(call, i, end);
}

using Add = void (*)(const AddCall& call, int64_t begin, int64_t end);

template <class Sum, class A, class B>
Add add_to(DType out) {
  return is_wide(out) ? &add<Sum, A, B, uint16_t> : &add<Sum, A, B, uint8_t>;
}

template <class Sum>
Add add_from(DType a, DType b, DType out) {
  if (a == DType::u8 && b == DType::u8 && out == DType::u8) return &add_bytes<Sum>;
  if (is_wide(a)) return is_wide(b) ? add_to<Sum, uint16_t, uint16_t>(out) : add_to<Sum, uint16_t, uint8_t>(out);
  return is_wide(b) ? add_to<Sum, uint8_t, uint16_t>(out) : add_to<Sum, uint8_t, uint8_t>(out);
}

Add add_of(const arith::SumRequantizer& requantizer, DType a, DType b, DType out) {
  const auto* fixed = std::get_if<arith::FixedSum>(&requantizer);
  const bool are_bytes = !is_wide(a) && !is_wide(b) && !is_wide(out);
  if (fixed != nullptr && are_bytes && PairSum::fits(*fixed)) return &add_pairs;
  return std::visit([&](const auto& sum) { return add_from<std::decay_t<decltype(sum)>>(a, b, out); }, requantizer);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

using Add = void (*)(const AddCall& call, int64_t begin, int64_t end);

/// Sums of a piece, a few microseconds of work.
constexpr int64_t kSums = int64_t{1} << 14;
/// Copies of a number that is added to a run, and the shortest run that is worth them.
constexpr int64_t kCopies = 512, kShortest = 16;

struct AddState {
  IntegerAdd attributes;
  Add add;
  BroadcastRuns runs;
  int64_t pieces;    ///< pieces of a run
  int64_t together;  ///< short runs of a piece
};

BroadcastRuns runs_of(const Problem& problem) {
  return {problem.in[IntegerAdd::in::a]->dims, problem.in[IntegerAdd::in::b]->dims, problem.out[0]->dims};
}

Verdict accept_add(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const BroadcastRuns runs = runs_of(problem);
  if ((runs.moves_a() && runs.moves_b()) || runs.length() >= kShortest) return accept();
  return refuse(errors::kernel_is_for_other_sizes("short runs with one number",
                                                  fmt::format("runs of at least {} elements", kShortest)));
}

Plan prepare_add(const Problem& problem) {
  const auto add_of = HS_SIMD_CHOOSE(problem.level, add_of);
  const IntegerAdd attributes(problem.attributes);
  const Type& out = *problem.out[IntegerAdd::out::out_];
  const Add add = add_of(stored_sum(attributes), problem.in[IntegerAdd::in::a]->dtype,
                         problem.in[IntegerAdd::in::b]->dtype, out.dtype);
  const BroadcastRuns runs = runs_of(problem);
  const int64_t pieces = std::max<int64_t>(1, ceil_div(runs.length(), kSums));
  const int64_t together = std::max<int64_t>(1, kSums / std::max<int64_t>(1, runs.length()));
  return {.state = std::make_shared<AddState>(AddState{attributes, add, runs, pieces, together}),
          .phases = {ceil_div(runs.count(), together) * pieces}};
}

/// Adds elements of a run, one of whose operands is a single number.
void add_number(const AddState& state, const Call& call, const BroadcastRuns::Run& run, int64_t begin, int64_t end) {
  const View& out = call.out[IntegerAdd::out::out_];
  const ConstView &a = call.in[IntegerAdd::in::a], &b = call.in[IntegerAdd::in::b];
  const bool moves_a = state.runs.moves_a();
  std::array<uint16_t, kCopies> copies;
  const auto fill = [&](const ConstView& from, int64_t at) {
    if (is_wide(from.dtype))
      copies.fill(from.as<const uint16_t>()[at]);
    else
      std::memset(copies.data(), from.as<const uint8_t>()[at], kCopies);
  };
  moves_a ? fill(b, run.b) : fill(a, run.a);
  for (int64_t i = begin; i < end; i += kCopies) {
    state.add({&state.attributes,
               moves_a ? element_of(a, run.a + i) : copies.data(),
               moves_a ? copies.data() : element_of(b, run.b + i),
               element_of(out, run.result + i),
               {a.dtype, b.dtype, out.dtype}},
              0, std::min(kCopies, end - i));
  }
}

Status run_add(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AddState>(call);
  const int64_t first = piece / state.pieces * state.together, begin = piece % state.pieces * kSums;
  const View& out = call.out[IntegerAdd::out::out_];
  const ConstView &a = call.in[IntegerAdd::in::a], &b = call.in[IntegerAdd::in::b];
  for (int64_t i = first; i < std::min(state.runs.count(), first + state.together); ++i) {
    const auto run = state.runs.run(i);
    const int64_t end = std::min(state.runs.length(), begin + kSums);
    if (!state.runs.moves_a() || !state.runs.moves_b()) {
      add_number(state, call, run, begin, end);
      continue;
    }
    state.add({&state.attributes,
               element_of(a, run.a),
               element_of(b, run.b),
               element_of(out, run.result),
               {a.dtype, b.dtype, out.dtype}},
              begin, end);
  }
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_add_simd{"simd", integer::accept_add, integer::prepare_add, integer::run_add};

}  // namespace halfstep::kernels
#endif
