// The least and the largest accumulator of each channel on vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/codes/training/cpu/extremes.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/codes/rule.h"
#include "halfstep/kernels/common/channels.h"
#include "halfstep/kernels/common/simd/dispatch.h"
#include "halfstep/kernels/ops.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Into the extremes of each of `count` channels one more element of each.
void widen_channels(const int32_t* acc, int64_t count, int32_t* low, int32_t* high) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto elements = hn::LoadU(d, acc + i);
    hn::StoreU(hn::Min(hn::LoadU(d, low + i), elements), d, low + i);
    hn::StoreU(hn::Max(hn::LoadU(d, high + i), elements), d, high + i);
  }
  for (; i < count; ++i) {
    low[i] = std::min(low[i], acc[i]);
    high[i] = std::max(high[i], acc[i]);
  }
}

/// Into the extremes of one channel `size` more elements.
void widen_channel(const int32_t* acc, int64_t size, int32_t& low, int32_t& high) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto least = hn::Set(d, low), largest = hn::Set(d, high);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto elements = hn::LoadU(d, acc + i);
    least = hn::Min(least, elements);
    largest = hn::Max(largest, elements);
  }
  low = hn::GetLane(hn::MinOfLanes(d, least));
  high = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < size; ++i) {
    low = std::min(low, acc[i]);
    high = std::max(high, acc[i]);
  }
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

struct ExtremesState {
  explicit ExtremesState(const Problem& problem)
      : channels(Channels::of(problem.in[AccumulatorExtremes::in::acc]->dims, 1)),
        rows(std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, row()))),
        widen_channels(HS_SIMD_CHOOSE(problem.level, widen_channels)),
        widen_channel(HS_SIMD_CHOOSE(problem.level, widen_channel)) {}

  int64_t row() const { return channels.count * channels.run; }
  int64_t pieces() const { return ceil_div(channels.outer, rows); }

  Channels channels;
  int64_t rows;  ///< of a piece: elements of all channels
  decltype(&N_AVX2::widen_channels) widen_channels;
  decltype(&N_AVX2::widen_channel) widen_channel;
};

Verdict accept_extremes(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  return accept_filled(problem);
}

/// Phase 0 finds the extremes of each piece, and phase 1 those of all.
Plan prepare_extremes(const Problem& problem) {
  auto state = std::make_shared<ExtremesState>(problem);
  const int64_t pieces = state->pieces();
  const auto scratch = static_cast<size_t>(pieces * 2 * state->channels.count) * sizeof(int32_t);
  return {.state = std::move(state), .scratch = scratch, .phases = {pieces, 1}};
}

void find_extremes(const ExtremesState& state, const int32_t* acc, int64_t rows, int32_t* low, int32_t* high) {
  const Channels& channels = state.channels;
  for (int64_t channel = 0; channel < channels.count; ++channel)
    low[channel] = high[channel] = acc[channel * channels.run];
  for (int64_t row = 0; row < rows; ++row, acc += state.row()) {
    if (channels.run == 1) {
      state.widen_channels(acc, channels.count, low, high);
      continue;
    }
    for (int64_t channel = 0; channel < channels.count; ++channel)
      state.widen_channel(acc + channel * channels.run, channels.run, low[channel], high[channel]);
  }
}

Status run_extremes(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<ExtremesState>(call);
  const int64_t count = state.channels.count;
  auto* parts = reinterpret_cast<int32_t*>(call.scratch);
  if (phase == 0) {
    const int64_t first = piece * state.rows, rows = std::min(state.rows, state.channels.outer - first);
    int32_t* low = parts + 2 * piece * count;
    find_extremes(state, call.in[0].as<const int32_t>() + first * state.row(), rows, low, low + count);
    return {};
  }
  auto* low = call.out[0].as<int32_t>();
  std::copy_n(parts, 2 * count, low);
  for (int64_t part = 1; part < state.pieces(); ++part) {
    const int32_t* other = parts + 2 * part * count;
    for (int64_t i = 0; i < count; ++i) {
      low[i] = std::min(low[i], other[i]);
      low[count + i] = std::max(low[count + i], other[count + i]);
    }
  }
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_accumulator_extremes_planes{"planes", training::accept_extremes, training::prepare_extremes,
                                                    training::run_extremes};

}  // namespace halfstep::kernels
#endif
