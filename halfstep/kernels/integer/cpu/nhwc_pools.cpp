// Pools of codes with their channels last, in vectors of channels.
#include <algorithm>
#include <memory>

#include "halfstep/arith/accumulator.h"
#include "halfstep/base/divide.h"
#include "halfstep/kernels/channels_last/geometry.h"
#include "halfstep/kernels/integer/average.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/integer/cpu/nhwc_pools.cpp"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_NHWC_POOLS
#define HALFSTEP_KERNELS_INTEGER_NHWC_POOLS
namespace halfstep::kernels::integer {

using channels_last::ImagePool;

/// A line of windows; `image` is the image of the window.
using Windows = void (*)(const struct PoolState& state, const uint8_t* image, int64_t oy, uint8_t* dst);

struct PoolState {
  ImagePool pool;
  Windows windows;
  int64_t lines = 1;  ///< of a piece
  AverageSteps steps = {};
  int32_t x_zero_point = 0, y_zero_point = 0;
  arith::Clamp clamp = {};
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using vectors::HWY_NAMESPACE::code_of;
using vectors::HWY_NAMESPACE::Ints;
using vectors::HWY_NAMESPACE::IntVec;

/// visit(pixel) for what lies inside of window (oy, ox), from channel c on.
template <class Visit>
HWY_INLINE void for_each_pixel(const ImagePool& pool, const uint8_t* image, int64_t oy, int64_t ox, Visit&& visit) {
  const Span1d rows = pool.geometry.rows(oy), columns = pool.geometry.columns(ox);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) visit(image + (y * pool.geometry.w + x) * pool.channels);
  }
}

/// vector(channel, lanes) and, where fewer channels are left than a vector has lanes, rest(channel).
template <class D, class Vector, class Rest>
HWY_INLINE void for_each_vector(D d, int64_t channels, Vector&& vector, Rest&& rest) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) vector(c);
  if (c < channels && channels >= lanes) return vector(channels - lanes);
  for (; c < channels; ++c) rest(c);
}

void largest(const PoolState& state, const uint8_t* image, int64_t oy, uint8_t* dst) {
  const ImagePool& pool = state.pool;
  const hn::ScalableTag<uint8_t> d;
  for (int64_t ox = 0; ox < pool.geometry.ow; ++ox, dst += pool.channels) {
    const auto vector = [&](int64_t c) {
      auto best = hn::Zero(d);
      for_each_pixel(pool, image + c, oy, ox, [&](const uint8_t* pixel) { best = hn::Max(best, hn::LoadU(d, pixel)); });
      hn::StoreU(best, d, dst + c);
    };
    const auto rest = [&](int64_t c) {
      uint8_t best = 0;
      for_each_pixel(pool, image + c, oy, ox, [&](const uint8_t* pixel) { best = std::max(best, *pixel); });
      dst[c] = best;
    };
    for_each_vector(d, pool.channels, vector, rest);
  }
}

/// Sums of steps as codes, in 32 bits.
HWY_INLINE IntVec codes_of(const PoolState& state, const arith::Requantizer& step, IntVec sum) {
  const Ints d;
  const IntVec code = code_of(sum, step, state.y_zero_point);
  return hn::Min(hn::Max(code, hn::Set(d, state.clamp.low)), hn::Set(d, state.clamp.high));
}

void sums(const PoolState& state, const uint8_t* image, int64_t oy, uint8_t* dst) {
  const ImagePool& pool = state.pool;
  const Ints d;
  const hn::Rebind<uint8_t, Ints> bytes;
  for (int64_t ox = 0; ox < pool.geometry.ow; ++ox, dst += pool.channels) {
    const auto pixels = pool.geometry.rows(oy).size() * pool.geometry.columns(ox).size();
    const auto zero = static_cast<int32_t>(-pixels * state.x_zero_point);
    const arith::Requantizer& step = state.steps.at(static_cast<int64_t>(pool.geometry.divisor(oy, ox)));
    const auto vector = [&](int64_t c) {
      IntVec sum = hn::Set(d, zero);
      for_each_pixel(pool, image + c, oy, ox,
                     [&](const uint8_t* pixel) { sum = sum + hn::PromoteTo(d, hn::LoadU(bytes, pixel)); });
      hn::StoreU(hn::DemoteTo(bytes, codes_of(state, step, sum)), bytes, dst + c);
    };
    const auto rest = [&](int64_t c) {
      int32_t sum = zero;
      for_each_pixel(pool, image + c, oy, ox, [&](const uint8_t* pixel) { sum += *pixel; });
      dst[c] = static_cast<uint8_t>(hn::GetLane(codes_of(state, step, hn::Set(d, sum))));
    };
    for_each_vector(d, pool.channels, vector, rest);
  }
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Codes of x that a piece reads, some 10 us.
constexpr int64_t kPieceCodes = 1 << 17;

Verdict accept_bytes_of_images(const Problem& problem) {
  for (const Type* type : {problem.in[0], problem.out[0]}) {
    if (type->dtype != DType::u8) return refuse("codes are {}, not u8", name(type->dtype));
  }
  const Verdict verdict = accept_simd(problem);
  return verdict ? accept_filled(problem) : verdict;
}

Plan plan_of(std::shared_ptr<PoolState> state) {
  const PoolGeometry& g = state->pool.geometry;
  const int64_t line = std::min(g.kernel[0], g.h) * std::min(g.kernel[1], g.w) * g.ow * state->pool.channels;
  state->lines = std::clamp<int64_t>(kPieceCodes / line, 1, g.planes * g.oh);
  return {.state = state, .phases = {ceil_div(g.planes * g.oh, state->lines)}};
}

Plan prepare_max(const Problem& problem) {
  return plan_of(std::make_shared<PoolState>(PoolState{.pool = channels_last::pool_of<ChannelsLastMaxPool2d>(problem),
                                                       .windows = HS_SIMD_CHOOSE(problem.level, largest)}));
}

/// Sums in 32 bits: a window's zero points, and its codes on top of them.
Verdict accept_sums(const Problem& problem) {
  const ChannelsLastIntegerAvgPool2d a(problem.attributes);
  const PoolGeometry g = channels_last::pool_of<ChannelsLastIntegerAvgPool2d>(problem).geometry;
  const int64_t most = std::min(g.kernel[0], g.h) * std::min(g.kernel[1], g.w) * std::max<int64_t>(255, a.x_zero_point);
  if (most > arith::kMostInInt32) return refuse("a window's sum may reach {}, more than 32 bits hold", most);
  if (Verdict verdict = accept_windows(a, g.h, g.w, g.oh, g.ow); !verdict) return verdict;
  return accept_bytes_of_images(problem);
}

Plan prepare_sums(const Problem& problem) {
  const ChannelsLastIntegerAvgPool2d a(problem.attributes);
  const ImagePool pool = channels_last::pool_of<ChannelsLastIntegerAvgPool2d>(problem);
  const PoolGeometry& g = pool.geometry;
  return plan_of(
      std::make_shared<PoolState>(PoolState{.pool = pool,
                                            .windows = HS_SIMD_CHOOSE(problem.level, sums),
                                            .steps = average_steps(a, window_divisors(a, g.h, g.w, g.oh, g.ow)),
                                            .x_zero_point = static_cast<int32_t>(a.x_zero_point),
                                            .y_zero_point = static_cast<int32_t>(a.y_zero_point),
                                            .clamp = clamp_of(a)}));
}

Status run_pool(const Call& call, int, int64_t piece) {
  const auto& state = state_of<PoolState>(call);
  const PoolGeometry& g = state.pool.geometry;
  const int64_t begin = piece * state.lines;
  for (int64_t line = begin; line < std::min(g.planes * g.oh, begin + state.lines); ++line) {
    state.windows(state, call.in[0].as<const uint8_t>() + line / g.oh * g.plane() * state.pool.channels, line % g.oh,
                  call.out[0].as<uint8_t>() + line * g.ow * state.pool.channels);
  }
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_channels_last_max_pool2d_bytes{"bytes", integer::accept_bytes_of_images, integer::prepare_max,
                                                       integer::run_pool};
extern const Kernel cpu_channels_last_integer_avg_pool2d_sums{"sums", integer::accept_sums, integer::prepare_sums,
                                                              integer::run_pool};

}  // namespace halfstep::kernels
#endif
