// observe_range on vectors. Sums are exact, so that every level has the bits of the reference.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/native/cpu/observe.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <memory>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/cpu/code-inl.h"
#include "halfstep/engine/kernels/quantizers/native/cpu/sums-inl.h"
#include "halfstep/engine/kernels/quantizers/native/observe.h"

#ifndef HALFSTEP_KERNELS_QUANTIZE_CPU_OBSERVE_ONCE
#define HALFSTEP_KERNELS_QUANTIZE_CPU_OBSERVE_ONCE
namespace halfstep::kernels::native {

/// Extends the range by the finite elements of a slice.
using RangeSlice = void (*)(const float* src, int64_t size, Range& range);
/// Parts of sums, by lane.
struct PartLanes {
  SumLanes upper, lower;
};

/// Adds the squared errors of a slice to the lanes.
using ErrorSlice = void (*)(const arith::AffineParameters& parameters, const arith::CodeGrid& grid,
                            const arith::TermGrid& cut, const float* src, int64_t size, PartLanes& lanes);

}  // namespace halfstep::kernels::native
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::native::HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;

struct ErrorTerm {
  HWY_INLINE hn::Vec<F64> value(hn::Vec<Narrow> x) const {
    const auto wide = hn::PromoteTo(F64(), x);
    const auto error = hn::Sub(wide, hn::PromoteTo(F64(), coder.real(x)));
    return hn::IfThenElseZero(hn::IsFinite(wide), hn::Mul(error, error));
  }
  HWY_INLINE auto full(int64_t i) const { return value(hn::LoadU(Narrow(), src + i)); }
  HWY_INLINE auto part(int64_t i, size_t count) const { return value(load_part(src + i, count)); }
  const Coder<Narrow, arith::Rounding::half_even, false>& coder;
  const float* src;
};

/// Splits a term into the two parts of TermParts::add.
struct Cut {
  HWY_INLINE explicit Cut(const arith::TermGrid& grid)
      : bound(hn::Set(F64(), grid.bound())),
        upper_magic(hn::Set(F64(), grid.upper_magic())),
        lower_magic(hn::Set(F64(), grid.lower_magic())) {}
  HWY_INLINE void add(hn::Vec<F64> term, hn::Vec<F64>& upper, hn::Vec<F64>& lower) const {
    const auto inside = hn::Min(term, bound);
    const auto above = hn::Sub(hn::Add(inside, upper_magic), upper_magic);
    upper = hn::Add(upper, above);
    lower = hn::Add(lower, hn::Sub(hn::Add(hn::Sub(inside, above), lower_magic), lower_magic));
  }
  hn::Vec<F64> bound, upper_magic, lower_magic;
};

void error_slice(const arith::AffineParameters& parameters, const arith::CodeGrid& grid, const arith::TermGrid& cut,
                 const float* src, int64_t size, PartLanes& lanes) {
  const F64 d;
  const Coder<Narrow, arith::Rounding::half_even, false> coder(Narrow(), parameters.scale, parameters.zero_point,
                                                               grid.code_min, grid.code_max);
  const ErrorTerm term{coder, src};
  const Cut parts(cut);
  hn::Vec<F64> upper[2], lower[2];
  for (int64_t k = 0; k < 2; ++k) {
    upper[k] = hn::LoadU(d, lanes.upper.data() + k * kLanes);
    lower[k] = hn::LoadU(d, lanes.lower.data() + k * kLanes);
  }
  int64_t i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    parts.add(term.full(i), upper[0], lower[0]);
    parts.add(term.full(i + kLanes), upper[1], lower[1]);
  }
  for (; i < size; i += kLanes) {
    const auto count = static_cast<size_t>(std::min(kLanes, size - i));
    parts.add(hn::IfThenElseZero(hn::FirstN(d, count), term.part(i, count)), upper[0], lower[0]);
  }
  for (int64_t k = 0; k < 2; ++k) {
    hn::StoreU(upper[k], d, lanes.upper.data() + k * kLanes);
    hn::StoreU(lower[k], d, lanes.lower.data() + k * kLanes);
  }
}

/// Ranges by lane. NaN and infinities do not change them.
struct RangeLanes {
  HWY_INLINE RangeLanes()
      : low(hn::Set(F32(), std::numeric_limits<float>::infinity())),
        high(hn::Set(F32(), -std::numeric_limits<float>::infinity())) {}
  HWY_INLINE void see(hn::Vec<F32> x, hn::Mask<F32> seen) {
    low = hn::IfThenElse(seen, hn::Min(low, x), low);
    high = hn::IfThenElse(seen, hn::Max(high, x), high);
  }
  HWY_INLINE void see(const RangeLanes& other) {
    low = hn::Min(low, other.low);
    high = hn::Max(high, other.high);
  }
  hn::Vec<F32> low, high;
};

/// Keeps four ranges, so that comparisons do not wait for each other.
void range_slice(const float* src, int64_t size, Range& range) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  RangeLanes r0, r1, r2, r3;
  const auto see = [&](RangeLanes& part, int64_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, src + i);
    part.see(x, hn::IsFinite(x));
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    see(r0, i);
    see(r1, i + lanes);
    see(r2, i + 2 * lanes);
    see(r3, i + 3 * lanes);
  }
  for (; i < size; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(std::min(lanes, size - i)));
    const auto x = hn::MaskedLoad(mask, d, src + i);
    r0.see(x, hn::And(mask, hn::IsFinite(x)));
  }
  r0.see(r1);
  r2.see(r3);
  r0.see(r2);
  range.low = std::min(range.low, hn::GetLane(hn::MinOfLanes(d, r0.low)));
  range.high = std::max(range.high, hn::GetLane(hn::MaxOfLanes(d, r0.high)));
}

}  // namespace halfstep::kernels::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace native {
namespace {

/// Layout of scratch: two ranges for each channel (range of the batch, range of the terms), the range of each block of
/// each operand, and the sums of each block.
struct Observe {
  explicit Observe(const Problem& problem) : observer(problem) {
    for (const Blocks& operand : observer.operands) {
      first_block.push_back(blocks);
      first_piece.push_back(pieces);
      blocks += operand.count();
      pieces += operand.pieces();
    }
    range_of_slice = HS_SIMD_CHOOSE(problem.level, range_slice);
    error_of_slice = HS_SIMD_CHOOSE(problem.level, error_slice);
  }
  size_t ranges_bytes() const { return static_cast<size_t>(2 * observer.channels + blocks) * sizeof(Range); }
  size_t scratch_bytes() const {
    return ranges_bytes() + static_cast<size_t>(blocks * observer.terms()) * sizeof(arith::TermParts);
  }
  Range* channel_ranges(const Call& call) const { return reinterpret_cast<Range*>(call.scratch); }
  Range* ranges_of_terms(const Call& call) const { return channel_ranges(call) + observer.channels; }
  Range* block_ranges(const Call& call) const { return ranges_of_terms(call) + observer.channels; }
  arith::TermParts* terms(const Call& call, int64_t block) const {
    return reinterpret_cast<arith::TermParts*>(call.scratch + ranges_bytes()) + block * observer.terms();
  }
  /// Only squared errors of ranges have a vector version. Other terms do not.
  bool on_vectors() const { return observer.rule.searches_range() && observer.rule.power == 2.0; }

  Observer observer;
  std::vector<int64_t> first_block, first_piece;  // by operand
  int64_t blocks = 0, pieces = 0;
  RangeSlice range_of_slice = nullptr;
  ErrorSlice error_of_slice = nullptr;
};
static_assert(sizeof(Range) == sizeof(double), "terms after ranges must be aligned");

Verdict accept_observe(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_observer(problem); !verdict) return verdict;
  const int64_t axis = ObserveRange(problem.attributes).axis;
  for (const Type* x : problem.in.subspan(ObserveRange::in::x)) {
    if (Verdict verdict = accept_run(Channels::of(x->dims, axis)); !verdict) return verdict;
  }
  return accept();
}

Plan prepare_observe(const Problem& problem) {
  auto state = std::make_shared<Observe>(problem);
  if (state->observer.is_test) return {.state = state};
  const int64_t pieces = std::max<int64_t>(1, state->pieces);
  Plan plan{.state = state, .scratch = state->scratch_bytes(), .phases = {pieces, 1}};
  if (state->observer.terms() > 0) {
    if (state->on_vectors())
      plan.worker_scratch = static_cast<size_t>(state->observer.rule.candidates()) * sizeof(PartLanes);
    plan.phases = {pieces, 1, pieces, std::max<int64_t>(1, state->observer.channels)};
  }
  return plan;
}

/// Calls visit(operand, block of the operand, block among all) for the blocks of a piece.
template <class Visit>
void for_each_block(const Observe& state, int64_t piece, Visit&& visit) {
  size_t k = state.first_piece.size();
  while (k > 0 && state.first_piece[k - 1] > piece) --k;
  if (k == 0) return;
  const Blocks& operand = state.observer.operands[--k];
  const int64_t own = piece - state.first_piece[k];
  for (int64_t block = operand.piece_begin(own); block < operand.piece_end(own); ++block)
    visit(k, block, state.first_block[k] + block);
}

const float* operand_data(const Call& call, size_t k) { return call.in[ObserveRange::in::x + k].as<const float>(); }

void find_ranges(const Call& call, const Observe& state, int64_t piece) {
  for_each_block(state, piece, [&](size_t k, int64_t block, int64_t index) {
    Range range;
    state.observer.operands[k].for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
      state.range_of_slice(operand_data(call, k) + begin, size, range);
    });
    state.block_ranges(call)[index] = range;
  });
}

/// Calls visit(index among all blocks) for the blocks of a channel in one operand, in order.
template <class Visit>
void for_each_block_of(const Observe& state, size_t k, int64_t channel, Visit&& visit) {
  const int64_t per_channel = state.observer.operands[k].per_channel();
  for (int64_t b = 0; b < per_channel; ++b) visit(state.first_block[k] + channel * per_channel + b);
}

Range batch_range(const Call& call, const Observe& state, int64_t channel) {
  Range batch;
  for (size_t k = 0; k < state.observer.operands.size(); ++k) {
    for_each_block_of(state, k, channel, [&](int64_t index) {
      const Range& part = state.block_ranges(call)[index];
      batch.low = std::min(batch.low, part.low);
      batch.high = std::max(batch.high, part.high);
    });
  }
  if (!batch.seen()) return batch;
  return {batch.low + 0.0F, batch.high + 0.0F};  // -0 becomes 0, as in the reference
}

/// Elements of a slice. It stays in the first-level cache for all candidates.
constexpr int64_t kTile = 1024;

/// Computes the errors of every candidate on one block.
void find_errors(const Call& call, const Observe& state, const Blocks& operand, int64_t block, Range range,
                 const float* x, arith::TermParts* errors) {
  const arith::StepRule& rule = state.observer.rule;
  const int count = rule.candidates();
  const arith::TermGrid cut = rule.term_grids(range)[0];
  auto* lanes = reinterpret_cast<PartLanes*>(call.worker_scratch);
  arith::AffineParameters parameters[arith::kMaxCandidates];
  for (int i = 0; i < count; ++i) {
    const Range candidate = rule.candidate(range, i);
    parameters[i] = arith::parameters_of(candidate.low, candidate.high, rule.grid());
    lanes[i] = {};
  }
  operand.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
    for (int64_t at = 0; at < size; at += kTile) {
      for (int i = 0; i < count; ++i)
        state.error_of_slice(parameters[i], rule.grid(), cut, x + begin + at, std::min(kTile, size - at), lanes[i]);
    }
  });
  for (int i = 0; i < count; ++i) errors[i] = {sum_of_lanes(lanes[i].upper), sum_of_lanes(lanes[i].lower)};
}

void find_terms(const Call& call, const Observe& state, int64_t piece) {
  for_each_block(state, piece, [&](size_t k, int64_t block, int64_t index) {
    const Blocks& operand = state.observer.operands[k];
    const int64_t channel = operand.channel_of(block);
    if (!state.channel_ranges(call)[channel].seen()) return;
    const Range range = state.ranges_of_terms(call)[channel];
    if (state.on_vectors()) {
      find_errors(call, state, operand, block, range, operand_data(call, k), state.terms(call, index));
    } else {
      add_terms(state.observer, range, operand, block, operand_data(call, k), state.terms(call, index));
    }
  });
}

std::vector<arith::ExactSum> channel_sums(const Call& call, const Observe& state, int64_t channel) {
  std::vector<arith::ExactSum> sums(static_cast<size_t>(state.observer.terms()));
  if (!state.channel_ranges(call)[channel].seen()) return sums;
  const arith::TermGrids grids = state.observer.rule.term_grids(state.ranges_of_terms(call)[channel]);
  for (size_t k = 0; k < state.observer.operands.size(); ++k) {
    for_each_block_of(state, k, channel, [&](int64_t index) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i].add(state.terms(call, index)[i], grids[static_cast<int64_t>(i)]);
    });
  }
  return sums;
}

void take_ranges(const Call& call, const Observe& state) {
  const Observer& observer = state.observer;
  for (int64_t c = 0; c < observer.channels; ++c) {
    const Range before = range_before(call, c);
    const Range batch = observer.sees_parts() ? before : batch_range(call, state, c);
    if (observer.terms() == 0) {
      update_channel(call, observer, c, batch, {});
      continue;
    }
    state.channel_ranges(call)[c] = batch;
    state.ranges_of_terms(call)[c] = observer.rule.range_of_terms(before, batch);
  }
}

Status run_observe(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<Observe>(call);
  const Observer& observer = state.observer;
  if (observer.is_test) return {};
  switch (phase) {
    case 0:
      if (!observer.sees_parts()) find_ranges(call, state, piece);
      break;
    case 1: take_ranges(call, state); break;
    case 2: find_terms(call, state, piece); break;
    default:
      if (piece < observer.channels)
        update_channel(call, observer, piece, state.channel_ranges(call)[piece], channel_sums(call, state, piece));
  }
  return {};
}

}  // namespace
}  // namespace native

extern const Kernel cpu_observe_range_chunks{"chunks", native::accept_observe, native::prepare_observe,
                                             native::run_observe};

}  // namespace halfstep::kernels
#endif
