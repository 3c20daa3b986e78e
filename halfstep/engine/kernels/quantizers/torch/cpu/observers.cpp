// PyTorch's min/max observers and its fused observer and quantizer on vectors. If a channel is in one piece that stays
// in a cache, it is read once. Otherwise one pass searches and another quantizes.
#include <algorithm>
#include <cstring>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/pieces.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/range_search.h"

namespace halfstep::kernels {
namespace torch {
namespace {

struct ObserverState {
  RangeObserver observer;
  RangeSearch search;
};

template <class Op>
Plan prepare_observer(const Problem& problem) {
  const RangeObserver observer(problem, Op(problem.attributes));
  const RangeSearch search(observer.x, problem.level);
  return {.state = std::make_shared<ObserverState>(observer, search),
          .scratch = search.scratch(),
          .phases = {search.pieces(), 1}};
}

Status run_observer(const Call& call, int phase, int64_t piece) {
  const auto& [observer, search] = state_of<ObserverState>(call);
  if (phase == 0) {
    search.search(call.in[RangeObserver::In::x].data, piece, call.scratch);
  } else {
    const RangeStep step = observer.step(call);
    for (int64_t c = 0; c < observer.x.channels.count; ++c) step(c, search.of_channel(c, call.scratch));
  }
  return {};
}

struct FusedState {
  explicit FusedState(const Problem& problem)
      : fused(problem), search(fused.x, problem.level), rule(fused.per_row ? RuleKind::channel : RuleKind::tensor) {
    const Channels& channels = fused.x.channels;
    walk = elements::Walk(channels, channels.size() * static_cast<int64_t>(size_of(fused.x.dtype)));
    piece = forward_piece(rule, fused.x.dtype, problem.level);
    if (channels.outer != 1 || channels.run > kPieceElements || channels.size() == 0) return;
    piece_channels = std::max<int64_t>(1, kPieceElements / channels.run);
  }

  bool in_cache() const { return piece_channels > 0; }
  int64_t cached_pieces() const { return ceil_div(fused.x.channels.count, piece_channels); }
  /// Layout: parameters of all channels, then the results of the search.
  size_t arrays() const { return static_cast<size_t>(3 * fused.x.channels.count) * sizeof(double); }

  FusedObserver fused;
  RangeSearch search;
  RuleKind rule;
  elements::Walk walk;
  PieceFunction piece = nullptr;
  int64_t piece_channels = 0;  ///< whole channels that a piece searches and quantizes, or 0 if channels are too large
};

Plan prepare_fused(const Problem& problem) {
  auto state = std::make_shared<FusedState>(problem);
  if (state->in_cache()) return {.state = state, .phases = {state->cached_pieces()}};
  return {.state = state,
          .scratch = state->arrays() + state->search.scratch(),
          .phases = {state->search.pieces(), 1, state->walk.pieces()}};
}

/// Quantizes elements [begin, end), with the parameters of the channels of `walk`.
void write_elements(const Call& call, const FusedState& state, const elements::Walk& walk, const void* parameters,
                    int64_t begin, int64_t end) {
  const auto width = static_cast<int64_t>(size_of(state.fused.x.dtype));
  const auto* src = call.in[FusedObserver::In::x].as<const std::byte>();
  auto* dst = call.out[FusedObserver::Out::out_].as<std::byte>();
  if (state.fused.quantizes) {
    state.piece(walk, state.fused.grid, parameters, src, nullptr, dst, begin, end);
  } else if (begin < end) {
    std::memcpy(dst + begin * width, src + begin * width, static_cast<size_t>((end - begin) * width));
  }
}

void lay_out_as(DType dtype, const Parameters& p, int64_t channel, int64_t count, void* arrays) {
  if (dtype == DType::f64) {
    lay_out(p, channel, count, static_cast<double*>(arrays));
  } else {
    lay_out(p, channel, count, static_cast<float*>(arrays));
  }
}

void run_in_cache(const Call& call, const FusedState& state, int64_t piece) {
  const Channels& channels = state.fused.x.channels;
  const int64_t last = std::min(channels.count, (piece + 1) * state.piece_channels);
  elements::Walk one = state.walk;
  one.channels = {1, 1, channels.run};
  one.form = elements::Walk::Form::runs;
  const FusedStep step = state.fused.step(call);
  for (int64_t c = piece * state.piece_channels; c < last; ++c) {
    const int64_t begin = c * channels.run;
    Extremes batch;
    if (state.fused.observes) batch = state.search.of_run(call.in[FusedObserver::In::x].data, begin, channels.run);
    double arrays[3];
    lay_out_as(state.fused.x.dtype, step(c, batch), 0, 1, arrays);
    one.channels.outer = c + 1;
    write_elements(call, state, one, arrays, begin, begin + channels.run);
  }
}

void step_channels(const Call& call, const FusedState& state) {
  const int64_t count = state.fused.x.channels.count;
  const FusedStep step = state.fused.step(call);
  for (int64_t c = 0; c < count; ++c) {
    Extremes batch;
    if (state.fused.observes) batch = state.search.of_channel(c, call.scratch + state.arrays());
    lay_out_as(state.fused.x.dtype, step(c, batch), c, count, call.scratch);
  }
}

Status run_fused(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<FusedState>(call);
  if (state.in_cache()) {
    run_in_cache(call, state, piece);
  } else if (phase == 0) {
    if (state.fused.observes)
      state.search.search(call.in[FusedObserver::In::x].data, piece, call.scratch + state.arrays());
  } else if (phase == 1) {
    step_channels(call, state);
  } else {
    write_elements(call, state, state.walk, call.scratch, state.walk.piece_begin(piece), state.walk.piece_end(piece));
  }
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cpu_min_max_observer_blocks{"blocks", accept_simd, torch::prepare_observer<MinMaxObserver>,
                                                torch::run_observer};
extern const Kernel cpu_moving_average_min_max_observer_blocks{
    "blocks", accept_simd, torch::prepare_observer<MovingAverageMinMaxObserver>, torch::run_observer};
extern const Kernel cpu_per_channel_min_max_observer_blocks{
    "blocks", accept_simd, torch::prepare_observer<PerChannelMinMaxObserver>, torch::run_observer};
extern const Kernel cpu_moving_average_per_channel_min_max_observer_blocks{
    "blocks", accept_simd, torch::prepare_observer<MovingAveragePerChannelMinMaxObserver>, torch::run_observer};
extern const Kernel cpu_fused_moving_avg_obs_fake_quant_simd{"simd", accept_simd, torch::prepare_fused,
                                                             torch::run_fused};

}  // namespace halfstep::kernels
