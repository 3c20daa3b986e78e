// Pools of channels-last images in vectors of channels. Comparisons, and sums in double, keep the order of the
// reference.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/conv.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/image/channels_last/cpu/pools.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after highway.h.
#include "halfstep/engine/kernels/image/channels_last/cpu/vectors-inl.h"

#ifndef HALFSTEP_KERNELS_CHANNELS_LAST_POOLS
#define HALFSTEP_KERNELS_CHANNELS_LAST_POOLS
namespace halfstep::kernels::channels_last {

/// Some channels of some lines of the result.
struct PoolPiece {
  int64_t first_line, last_line, first_channel, last_channel;
};

struct PoolState {
  ImagePool pool;
  int64_t lines, channels;  ///< lines and channels of a piece
  void (*piece)(const ImagePool& pool, const Call& call, const PoolPiece& piece) = nullptr;

  int64_t all_lines() const { return pool.geometry.planes * pool.geometry.oh; }
  int64_t parts() const { return ceil_div(pool.channels, channels); }
  int64_t pieces() const { return ceil_div(all_lines(), lines) * parts(); }
  PoolPiece at(int64_t index) const {
    const int64_t line = index / parts() * lines, channel = index % parts() * channels;
    return {line, std::min(all_lines(), line + lines), channel, std::min(pool.channels, channel + channels)};
  }
};

}  // namespace halfstep::kernels::channels_last
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::channels_last::HWY_NAMESPACE {

/// Calls window(first element of the image, out row, out column, channel, offset of the result) for each vector of a
/// piece. A vector begins at `channel` and has up to `step` channels.
template <class Window>
void for_each_window(const ImagePool& pool, const Call& call, const PoolPiece& piece, int64_t step, Window&& window) {
  const PoolGeometry& g = pool.geometry;
  const auto* x = call.in[0].as<const float>();
  for (int64_t line = piece.first_line; line < piece.last_line; ++line) {
    const float* image = x + line / g.oh * g.plane() * pool.channels;
    for (int64_t ox = 0; ox < g.ow; ++ox) {
      for (int64_t c = piece.first_channel; c < piece.last_channel; c += step)
        window(image + c, line % g.oh, ox, piece.last_channel - c, (line * g.ow + ox) * pool.channels + c);
    }
  }
}

template <class Visit>
HWY_INLINE void for_each_pixel(const ImagePool& pool, const float* image, int64_t oy, int64_t ox, Visit&& visit) {
  const PoolGeometry& g = pool.geometry;
  const Span1d rows = g.rows(oy), columns = g.columns(ox);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    const float* pixel = image + (y * g.w + columns.begin) * pool.channels;
    for (int64_t x = columns.begin; x < columns.end; ++x, pixel += pool.channels) visit(pixel);
  }
}

void largest(const ImagePool& pool, const Call& call, const PoolPiece& piece) {
  auto* out = call.out[0].as<float>();
  for_each_window(pool, call, piece, kLanes,
                  [&](const float* image, int64_t oy, int64_t ox, int64_t channels, int64_t at) {
                    with_extent(channels, [&](auto extent) {
                      FloatVector best = hn::Set(Float(), lowest<float>());
                      for_each_pixel(pool, image, oy, ox, [&](const float* pixel) {
                        const FloatVector value = load(pixel, extent);
                        // Same rule as is_new_maximum(): a NaN wins except against a NaN.
                        const auto wins = hn::AndNot(hn::IsNaN(best), hn::Not(hn::Le(value, best)));
                        best = hn::IfThenElse(wins, value, best);
                      });
                      store(best, out + at, extent);
                    });
                  });
}

void average(const ImagePool& pool, const Call& call, const PoolPiece& piece) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  constexpr int64_t kStep = kLanes / 2;
  auto* out = call.out[0].as<float>();
  for_each_window(pool, call, piece, kStep,
                  [&](const float* image, int64_t oy, int64_t ox, int64_t channels, int64_t at) {
                    const auto inside = hn::FirstN(narrow, static_cast<size_t>(std::min(channels, kStep)));
                    auto sum = hn::Zero(wide);
                    for_each_pixel(pool, image, oy, ox, [&](const float* pixel) {
                      sum = hn::Add(sum, hn::PromoteTo(wide, hn::MaskedLoad(inside, narrow, pixel)));
                    });
                    const auto mean = hn::Div(sum, hn::Set(wide, pool.geometry.divisor(oy, ox)));
                    hn::BlendedStore(hn::DemoteTo(narrow, mean), inside, narrow, out + at);
                  });
}
}  // namespace halfstep::kernels::channels_last::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::channels_last {
namespace {

/// Elements of x that a piece reads, about 10 us.
constexpr int64_t kPieceReads = 32768;
/// Channels of a piece if there are fewer than kFewLines lines.
constexpr int64_t kPartChannels = 128;
constexpr int64_t kFewLines = 8;

Plan plan_of(const ImagePool& pool, decltype(PoolState::piece) piece) {
  const PoolGeometry& g = pool.geometry;
  auto state = std::make_shared<PoolState>(pool);
  state->channels = state->all_lines() < kFewLines ? std::min(kPartChannels, pool.channels) : pool.channels;
  const int64_t window = std::min(g.kernel[0], g.h) * std::min(g.kernel[1], g.w);
  state->lines = std::clamp<int64_t>(kPieceReads / (window * g.ow * state->channels), 1, state->all_lines());
  state->piece = piece;
  return {.state = state, .phases = {state->pieces()}};
}

Plan prepare_max(const Problem& problem) {
  return plan_of(pool_of<ChannelsLastMaxPool2d>(problem), HS_SIMD_CHOOSE(problem.level, largest));
}

Plan prepare_average(const Problem& problem) {
  return plan_of(pool_of<ChannelsLastAvgPool2d>(problem), HS_SIMD_CHOOSE(problem.level, average));
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<PoolState>(call);
  state.piece(state.pool, call, state.at(piece));
  return {};
}

}  // namespace
}  // namespace halfstep::kernels::channels_last

namespace halfstep::kernels {

extern const Kernel cpu_channels_last_max_pool2d_channels{"channels", channels_last::accept_f32_images,
                                                          channels_last::prepare_max, channels_last::run};
extern const Kernel cpu_channels_last_avg_pool2d_channels{"channels", channels_last::accept_f32_images,
                                                          channels_last::prepare_average, channels_last::run};

}  // namespace halfstep::kernels
#endif
