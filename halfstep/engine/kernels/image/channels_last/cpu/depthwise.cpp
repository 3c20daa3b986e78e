// fused_conv2d in which every channel is its own group. Works on vectors of channels, several neighbouring pixels of a
// line at a time. Taps outside of x are skipped, so that nothing is padded.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/conv.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/image/channels_last/cpu/depthwise.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after highway.h.
#include "halfstep/engine/kernels/image/channels_last/cpu/vectors-inl.h"

#ifndef HALFSTEP_KERNELS_CHANNELS_LAST_DEPTHWISE
#define HALFSTEP_KERNELS_CHANNELS_LAST_DEPTHWISE
namespace halfstep::kernels::channels_last {

/// The taps [begin, end) of a window that are inside x along one axis. Tap 0 is at `first`.
inline Span1d taps_inside(int64_t first, int64_t dilation, int64_t taps, int64_t extent) {
  const int64_t begin = first >= 0 ? 0 : ceil_div(-first, dilation);
  const int64_t end = first >= extent ? 0 : std::min(taps, (extent - 1 - first) / dilation + 1);
  return {begin, std::max(begin, end)};
}

struct DepthwiseState {
  ConvGeometry geometry;
  Activation activation;
  int64_t lines;  ///< lines of a piece
  void (*line)(const DepthwiseState& state, const Call& call, const float* weights, int64_t line) = nullptr;
  Tensor packed = {};  ///< constant weights as [taps, channels]

  int64_t pieces() const { return ceil_div(geometry.n * geometry.oh, lines); }
};

/// Neighbouring pixels, all with the same taps.
struct DepthwiseSpan {
  const float* x;        ///< x at tap (0, 0) of the first pixel, may be outside of x
  const float* weights;  ///< weights of tap (0, 0)
  const float* bias;     ///< may be null
  Span1d rows, columns;  ///< taps of the window inside x
  int64_t out;           ///< offset of the first pixel in out
};

}  // namespace halfstep::kernels::channels_last
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::channels_last::HWY_NAMESPACE {

template <int kPixels, class Extent>
HWY_INLINE void compute(const ConvGeometry& g, const Bounds& how, const DepthwiseSpan& span, int64_t c, Extent extent) {
  FloatVector sums[kPixels];
  const FloatVector first = span.bias == nullptr ? hn::Zero(Float()) : load(span.bias + c, extent);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sums[p] = first;
  const int64_t pixel_step = g.stride[1] * g.c;
  for (int64_t ky = span.rows.begin; ky < span.rows.end; ++ky) {
    for (int64_t kx = span.columns.begin; kx < span.columns.end; ++kx) {
      const FloatVector w = load(span.weights + (ky * g.kw + kx) * g.c + c, extent);
      const float* x = span.x + (ky * g.dilation[0] * g.w + kx * g.dilation[1]) * g.c + c;
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) sums[p] = hn::MulAdd(load(x + p * pixel_step, extent), w, sums[p]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) finish(how, sums[p], span.out + p * g.c + c, extent);
}

/// Computes all channels of some pixels and moves the span to the next pixels.
template <int kPixels>
void step(const ConvGeometry& g, const Finish& layer, DepthwiseSpan& span) {
  const Bounds how(layer);
  int64_t c = 0;
  for (; c + kLanes <= g.c; c += kLanes) compute<kPixels>(g, how, span, c, Whole());
  if (c < g.c) compute<kPixels>(g, how, span, c, Part{g.c - c});
  span.x += kPixels * g.stride[1] * g.c;
  span.out += kPixels * g.c;
}

/// Computes a line of the result. Pixels whose windows fit into x horizontally are computed together, those at the
/// borders one by one.
void line(const DepthwiseState& state, const Call& call, const float* weights, int64_t line) {
  using In = FusedConv2d::in;
  const ConvGeometry& g = state.geometry;
  const Finish how = finish_of(state.activation, call);
  const int64_t n = line / g.oh, y = line % g.oh * g.stride[0] - g.pad[0];
  const int64_t last_inside = g.w - 1 - (g.kw - 1) * g.dilation[1] + g.pad[1];
  const int64_t first = std::min(g.ow, ceil_div(g.pad[1], g.stride[1]));
  const int64_t last = std::clamp(last_inside < 0 ? 0 : last_inside / g.stride[1] + 1, first, g.ow);
  DepthwiseSpan span{.x = call.in[In::x].as<const float>() + n * g.x_image() + (y * g.w - g.pad[1]) * g.c,
                     .weights = weights,
                     .bias = call.in[In::b].as<const float>(),
                     .rows = taps_inside(y, g.dilation[0], g.kh, g.h),
                     .columns = {0, g.kw},
                     .out = line * g.ow * g.c};
  const auto edge = [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      span.columns = taps_inside(x * g.stride[1] - g.pad[1], g.dilation[1], g.kw, g.w);
      step<1>(g, how, span);
    }
  };
  edge(0, first);
  span.columns = {0, g.kw};
  int64_t x = first;
  for (; x + 8 <= last; x += 8) step<8>(g, how, span);
  for (; x + 4 <= last; x += 4) step<4>(g, how, span);
  for (; x < last; ++x) step<1>(g, how, span);
  edge(last, g.ow);
}
}  // namespace halfstep::kernels::channels_last::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::channels_last {
namespace {

using In = FusedConv2d::in;

/// Bytes that a piece reads and writes, about 4 us.
constexpr int64_t kPieceBytes = int64_t{64} << 10;

Verdict accept_depthwise(const Problem& problem) {
  if (Verdict verdict = accept_convolution(problem); !verdict) return verdict;
  const ConvGeometry g = conv_geometry_of(problem);
  if (g.group_in() != 1 || g.group_out() != 1)
    return refuse(errors::kernel_is_for_other_sizes(
        fmt::format("groups with {} input and {} output channels", g.group_in(), g.group_out()), "one each"));
  return accept();
}

void pack(const ConvGeometry& g, const float* weights, float* packed) {
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    for (int64_t c = 0; c < g.c; ++c) packed[tap * g.c + c] = weights[c * g.taps() + tap];
  }
}

Plan prepare(const Problem& problem) {
  const ConvGeometry g = conv_geometry_of(problem);
  const int64_t line_bytes = (g.ow + g.stride[0] * g.w) * g.c * static_cast<int64_t>(sizeof(float));
  auto state =
      std::make_shared<DepthwiseState>(g, activation_of(problem), std::max<int64_t>(1, kPieceBytes / line_bytes));
  state->line = HS_SIMD_CHOOSE(problem.level, line);
  Plan plan{.state = state, .phases = {state->pieces()}};
  if (const Tensor* constant = problem.constants[In::w]; constant != nullptr) {
    state->packed = Tensor(DType::f32, {g.weights()});
    pack(g, constant->data<float>().data(), state->packed.data<float>().data());
  } else {
    plan.scratch = static_cast<size_t>(g.weights()) * sizeof(float);
    plan.phases.insert(plan.phases.begin(), 1);
  }
  return plan;
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<DepthwiseState>(call);
  const ConvGeometry& g = state.geometry;
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  if (phase == 0 && !state.packed.defined()) {
    pack(g, call.in[In::w].as<const float>(), scratch);
    return {};
  }
  const float* weights = state.packed.defined() ? state.packed.data<float>().data() : scratch;
  const int64_t begin = piece * state.lines, end = std::min(g.n * g.oh, begin + state.lines);
  for (int64_t line = begin; line < end; ++line) state.line(state, call, weights, line);
  if (state.activation.kind == Activation::Kind::leaky_relu)
    state.activation.apply(call.out[0].as<float>() + begin * g.ow * g.c, (end - begin) * g.ow * g.c);
  return {};
}

}  // namespace
}  // namespace halfstep::kernels::channels_last

namespace halfstep::kernels {

extern const Kernel cpu_fused_conv2d_depthwise{"depthwise", channels_last::accept_depthwise, channels_last::prepare,
                                               channels_last::run};

}  // namespace halfstep::kernels
#endif
