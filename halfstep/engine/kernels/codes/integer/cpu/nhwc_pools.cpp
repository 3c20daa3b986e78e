// Pools of channels-last codes, in vectors of channels.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/codes/integer/average.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/image/channels_last/geometry.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/nhwc_pools.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_NHWC_POOLS
#define HALFSTEP_KERNELS_INTEGER_NHWC_POOLS
namespace halfstep::kernels::integer {

using channels_last::ImagePool;

/// Computes a line of the result, the windows of an image of x.
using Windows = void (*)(const struct PoolState& state, const void* x, int64_t image, int64_t oy, void* out);

struct PoolState {
  ImagePool pool;
  Windows windows;
  int64_t lines = 1;  ///< lines of a piece
  AverageSteps steps = {};
  int32_t x_zero_point = 0, y_zero_point = 0;
  arith::Clamp clamp = {};
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::code_of;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;

/// Calls visit(pixel) for the pixels inside of window (oy, ox), from channel c on.
template <class Code, class Visit>
HWY_INLINE void for_each_pixel(const ImagePool& pool, const Code* image, int64_t oy, int64_t ox, Visit&& visit) {
  const Span1d rows = pool.geometry.rows(oy), columns = pool.geometry.columns(ox);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) visit(image + (y * pool.geometry.w + x) * pool.channels);
  }
}

/// Calls vector(channel, lanes) for whole vectors, and rest(channel) if fewer channels than lanes remain.
template <class D, class Vector, class Rest>
HWY_INLINE void for_each_vector(D d, int64_t channels, Vector&& vector, Rest&& rest) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) vector(c);
  if (c < channels && channels >= lanes) return vector(channels - lanes);
  for (; c < channels; ++c) rest(c);
}

/// The first code of an image, and of a line of the result.
template <class Code>
const Code* image_of(const ImagePool& pool, const void* x, int64_t image) {
  return static_cast<const Code*>(x) + image * pool.geometry.plane() * pool.channels;
}
template <class Code>
Code* line_of(const ImagePool& pool, void* out, int64_t image, int64_t oy) {
  return static_cast<Code*>(out) + (image * pool.geometry.oh + oy) * pool.geometry.ow * pool.channels;
}

template <class Code>
void largest(const PoolState& state, const void* x, int64_t number, int64_t oy, void* out) {
  const ImagePool& pool = state.pool;
  const Code* image = image_of<Code>(pool, x, number);
  Code* dst = line_of<Code>(pool, out, number, oy);
  const hn::ScalableTag<Code> d;
  for (int64_t ox = 0; ox < pool.geometry.ow; ++ox, dst += pool.channels) {
    const auto vector = [&](int64_t c) {
      auto best = hn::Set(d, std::numeric_limits<Code>::lowest());
      for_each_pixel(pool, image + c, oy, ox, [&](const Code* pixel) { best = hn::Max(best, hn::LoadU(d, pixel)); });
      hn::StoreU(best, d, dst + c);
    };
    const auto rest = [&](int64_t c) {
      Code best = std::numeric_limits<Code>::lowest();
      for_each_pixel(pool, image + c, oy, ox, [&](const Code* pixel) { best = std::max(best, *pixel); });
      dst[c] = best;
    };
    for_each_vector(d, pool.channels, vector, rest);
  }
}

/// Converts sums of steps to codes, in 32 bits.
HWY_INLINE IntVec codes_of(const PoolState& state, const arith::Requantizer& step, IntVec sum) {
  const Ints d;
  const IntVec code = code_of(sum, step, state.y_zero_point);
  return hn::Min(hn::Max(code, hn::Set(d, state.clamp.low)), hn::Set(d, state.clamp.high));
}

template <class Code, class Out>
void sums(const PoolState& state, const void* x, int64_t number, int64_t oy, void* out) {
  const ImagePool& pool = state.pool;
  const Code* image = image_of<Code>(pool, x, number);
  Out* dst = line_of<Out>(pool, out, number, oy);
  const Ints d;
  const hn::Rebind<Code, Ints> codes;
  const hn::Rebind<Out, Ints> narrow;
  for (int64_t ox = 0; ox < pool.geometry.ow; ++ox, dst += pool.channels) {
    const auto pixels = pool.geometry.rows(oy).size() * pool.geometry.columns(ox).size();
    const auto zero = static_cast<int32_t>(-pixels * state.x_zero_point);
    const arith::Requantizer& step = state.steps.at(static_cast<int64_t>(pool.geometry.divisor(oy, ox)));
    const auto vector = [&](int64_t c) {
      IntVec sum = hn::Set(d, zero);
      for_each_pixel(pool, image + c, oy, ox,
                     [&](const Code* pixel) { sum = sum + hn::PromoteTo(d, hn::LoadU(codes, pixel)); });
      hn::StoreU(hn::DemoteTo(narrow, codes_of(state, step, sum)), narrow, dst + c);
    };
    const auto rest = [&](int64_t c) {
      int32_t sum = zero;
      for_each_pixel(pool, image + c, oy, ox, [&](const Code* pixel) { sum += *pixel; });
      dst[c] = static_cast<Out>(hn::GetLane(codes_of(state, step, hn::Set(d, sum))));
    };
    for_each_vector(d, pool.channels, vector, rest);
  }
}

Windows largest_of(DType code) {
  return with_codes(code, []<class Code>() -> Windows { return &largest<Code>; });
}

Windows sums_of(DType code, DType out) {
  return with_codes(
      code, [&]<class Code>() { return with_codes(out, []<class Out>() -> Windows { return &sums<Code, Out>; }); });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Codes of x that a piece reads, about 10 us.
constexpr int64_t kPieceCodes = 1 << 17;

Verdict accept_codes(const Problem& problem) {
  const DType code = problem.in[0]->dtype;
  if (code != DType::u8 && code != DType::u16 && code != DType::i8 && code != DType::i16)
    return refuse(errors::kernel_takes_other_types("x", name(code), "u8, u16, i8 or i16"));
  const Verdict verdict = accept_simd(problem);
  return verdict ? accept_filled(problem) : verdict;
}

Plan plan_of(const std::shared_ptr<PoolState>& state) {
  const PoolGeometry& g = state->pool.geometry;
  const int64_t line = std::min(g.kernel[0], g.h) * std::min(g.kernel[1], g.w) * g.ow * state->pool.channels;
  state->lines = std::clamp<int64_t>(kPieceCodes / line, 1, g.planes * g.oh);
  return {.state = state, .phases = {ceil_div(g.planes * g.oh, state->lines)}};
}

Plan prepare_max(const Problem& problem) {
  return plan_of(std::make_shared<PoolState>(
      PoolState{.pool = channels_last::pool_of<ChannelsLastMaxPool2d>(problem),
                .windows = HS_SIMD_CHOOSE(problem.level, largest_of)(problem.in[0]->dtype)}));
}

/// Checks that sums fit into 32 bits. A sum starts with the window's zero points and adds its codes.
Verdict accept_sums(const Problem& problem) {
  if (Verdict verdict = channels_last::accept_channels_last(problem); !verdict) return verdict;
  const IntegerAvgPool2d a(problem.attributes);
  const PoolGeometry g = channels_last::pool_of<IntegerAvgPool2d>(problem).geometry;
  const DType code = problem.in[0]->dtype;
  const int64_t largest = is_wide(code) ? 65535 : 255, zero = std::abs(a.x_zero_point);
  const int64_t element = is_signed(code) ? largest + zero : std::max(largest, zero);
  const int64_t most = std::min(g.kernel[0], g.h) * std::min(g.kernel[1], g.w) * element;
  if (most > arith::kMostInInt32)
    return refuse(errors::kernel_sum_too_large(fmt::format("a window whose sum can reach {}", most), "32 bits"));
  if (Verdict verdict = accept_windows(a, window_of(a, problem)); !verdict) return verdict;
  return accept_codes(problem);
}

Plan prepare_sums(const Problem& problem) {
  const IntegerAvgPool2d a(problem.attributes);
  return plan_of(std::make_shared<PoolState>(
      PoolState{.pool = channels_last::pool_of<IntegerAvgPool2d>(problem),
                .windows = HS_SIMD_CHOOSE(problem.level, sums_of)(problem.in[0]->dtype, problem.out[0]->dtype),
                .steps = average_steps(a, window_of(a, problem).divisors()),
                .x_zero_point = static_cast<int32_t>(a.x_zero_point),
                .y_zero_point = static_cast<int32_t>(a.y_zero_point),
                .clamp = clamp_of(a)}));
}

Status run_pool(const Call& call, int, int64_t piece) {
  const auto& state = state_of<PoolState>(call);
  const PoolGeometry& g = state.pool.geometry;
  const int64_t begin = piece * state.lines;
  for (int64_t line = begin; line < std::min(g.planes * g.oh, begin + state.lines); ++line) {
    state.windows(state, call.in[0].data, line / g.oh, line % g.oh, call.out[0].data);
  }
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_channels_last_max_pool2d_codes{"codes", integer::accept_codes, integer::prepare_max,
                                                       integer::run_pool};
extern const Kernel cpu_integer_avg_pool2d_sums{"sums", integer::accept_sums, integer::prepare_sums, integer::run_pool};

}  // namespace halfstep::kernels
#endif
