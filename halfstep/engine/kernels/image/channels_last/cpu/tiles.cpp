// fused_conv2d, and products with constant weights as 1x1 convolutions. Tiles of pixels by channels keep their sums in
// registers from the bias to the activation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/elementwise/activation_row.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/conv.h"
#include "halfstep/engine/kernels/image/channels_last/cpu/tiling.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/image/channels_last/cpu/tiles.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after highway.h.
#include "halfstep/engine/kernels/image/channels_last/cpu/vectors-inl.h"

#ifndef HALFSTEP_KERNELS_CHANNELS_LAST_TILES
#define HALFSTEP_KERNELS_CHANNELS_LAST_TILES
namespace halfstep::kernels::channels_last {

/// Neighbouring pixels of a line by the channels of a block.
struct Tile {
  const float* x;        ///< x at the first pixel
  const float* weights;  ///< packed
  const float* bias;     ///< bias of the block, may be null
  int64_t out;           ///< offset of the first pixel and channel in out
  int64_t channels;
};

struct TileState {
  Tiling tiling;
  Activation activation;
  elementwise::ActivationRow activate;
  void (*piece)(const TileState& state, const Call& call, const float* weights, int64_t number) = nullptr;
  Tensor packed = {};  ///< packed constant weights
};

}  // namespace halfstep::kernels::channels_last
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::channels_last::HWY_NAMESPACE {

/// Most pixels of a tile, for 32 or 16 registers. Each pixel needs two registers, and the factors need three.
constexpr int kMostPixels = HWY_TARGET == HWY_AVX3 ? 14 : 6;
/// Steps of the sum between the use of weights and their prefetch from the second-level cache.
constexpr int64_t kAhead = 40;

template <int kPixels, int kVectors, int kLines>
HWY_INLINE void add_runs(const Tiling& tiling, const Tile& tile, FloatVector (&sums)[kPixels][kVectors]) {
  const Float d;
  constexpr int kWidth = kPixels / kLines;
  const int64_t pixel_step = tiling.pixel_step(), line_step = tiling.line_step(), run = tiling.run();
  const int64_t ahead = tiling.has_small_weights() ? 0 : kAhead * kVectors * kLanes;
  const float* weights = tile.weights;
  for (const int64_t offset : tiling.runs()) {
    const float* x = tile.x + offset;
    for (int64_t k = 0; k < run; ++k, ++x, weights += kVectors * kLanes) {
      FloatVector w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        w[v] = hn::LoadU(d, weights + v * kLanes);
        hwy::Prefetch(weights + ahead + v * kLanes);
      }
#pragma GCC unroll 14
      for (int p = 0; p < kPixels; ++p) {
        const FloatVector value = hn::Set(d, x[p / kWidth * line_step + p % kWidth * pixel_step]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::MulAdd(value, w[v], sums[p][v]);
      }
    }
  }
}

/// `last` is the extent of the last vector of channels. The other vectors are whole.
template <int kPixels, int kVectors, class Extent>
HWY_INLINE void start(const Tile& tile, FloatVector (&sums)[kPixels][kVectors], Extent last) {
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    FloatVector first = hn::Zero(Float());
    const float* bias = tile.bias + v * kLanes;
    if (tile.bias != nullptr) first = v + 1 < kVectors ? load(bias, Whole()) : load(bias, last);
#pragma GCC unroll 14
    for (int p = 0; p < kPixels; ++p) sums[p][v] = first;
  }
}

template <int kPixels, int kVectors, class Extent>
HWY_INLINE void finish_all(const Finish& layer, const Tile& tile, int64_t out_step,
                           const FloatVector (&sums)[kPixels][kVectors], Extent last) {
  const Bounds how(layer);
#pragma GCC unroll 14
  for (int p = 0; p < kPixels; ++p) {
    const int64_t at = tile.out + p * out_step;
    if constexpr (kVectors == 2) finish(how, sums[p][0], at, Whole());
    finish(how, sums[p][kVectors - 1], at + (kVectors - 1) * kLanes, last);
  }
}

/// Computes a tile: kPixels pixels of one line, or half as many of each of two whole lines.
template <int kPixels, int kVectors, int kLines>
void compute(const Tiling& tiling, const Finish& how, const Tile& tile) {
  FloatVector sums[kPixels][kVectors];
  const int64_t last = tile.channels - (kVectors - 1) * kLanes, out_step = tiling.geometry().o;
  last >= kLanes ? start(tile, sums, Whole()) : start(tile, sums, Part{last});
  add_runs<kPixels, kVectors, kLines>(tiling, tile, sums);
  last >= kLanes ? finish_all(how, tile, out_step, sums, Whole()) : finish_all(how, tile, out_step, sums, Part{last});
}

using Compute = void (*)(const Tiling&, const Finish&, const Tile&);
using ByPixels = std::array<Compute, kMostPixels>;

template <int kVectors, int kLines, int... kBefore>
constexpr ByPixels tiles_of(std::integer_sequence<int, kBefore...>) {
  return {compute<(kBefore + 1) * kLines, kVectors, kLines>...};
}

template <int kVectors>
constexpr ByPixels kLineTiles = tiles_of<kVectors, 1>(std::make_integer_sequence<int, kMostPixels>());
template <int kVectors>
constexpr ByPixels kPairTiles = tiles_of<kVectors, 2>(std::make_integer_sequence<int, kMostPixels / 2>());

/// Computes two short lines in one tile.
void pair(const Tiling& tiling, const Finish& how, const Tile& tile, bool wide, int64_t pixels) {
  (wide ? kPairTiles<2> : kPairTiles<1>)[static_cast<size_t>(pixels - 1)](tiling, how, tile);
}

/// Computes a line in tiles of nearly equal size. `tile` starts at its first pixel.
void line(const Tiling& tiling, const Finish& how, Tile tile, bool wide, int64_t pixels) {
  const ByPixels& tiles = wide ? kLineTiles<2> : kLineTiles<1>;
  const int64_t count = ceil_div(pixels, kMostPixels);
  const int64_t least = pixels / count, more = pixels % count;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = least + (i < more ? 1 : 0);
    tiles[static_cast<size_t>(size - 1)](tiling, how, tile);
    tile.x += size * tiling.pixel_step();
    tile.out += size * tiling.geometry().o;
  }
}

void piece(const TileState& state, const Call& call, const float* weights, int64_t number) {
  using In = FusedConv2d::in;
  const Tiling& tiling = state.tiling;
  const ConvGeometry& g = tiling.geometry();
  const Tiling::Piece piece = tiling.piece(number);
  const Finish how = finish_of(state.activation, call);
  const auto* bias = call.in[In::b].as<const float>();
  const int64_t most = tiling.together();
  for (int64_t n = piece.image; n < piece.image + piece.images; ++n) {
    const float* x = tiling.enter(call.in[In::x].as<const float>() + n * g.x_image(), piece,
                                  reinterpret_cast<float*>(call.worker_scratch));
    const int64_t out = n * g.out_image() + piece.first * g.ow * g.o;
    for (int64_t begin = 0; begin < piece.lines; begin += most) {
      const int64_t end = std::min(piece.lines, begin + most);
      for (int64_t b = piece.block; b < piece.last_block; ++b) {
        const Tiling::Block& block = tiling.blocks()[static_cast<size_t>(b)];
        const bool wide = block.width > kLanes;
        for (int64_t y = begin, done = 1; y < end; y += done) {
          const Tile tile{.x = x + y * tiling.line_step() + block.x,
                          .weights = weights + block.weights,
                          .bias = bias == nullptr ? nullptr : bias + block.channel,
                          .out = out + y * g.ow * g.o + block.channel,
                          .channels = block.channels};
          const bool paired = 2 * g.ow <= kMostPixels && y + 1 < end;
          done = paired ? 2 : 1;
          paired ? pair(tiling, how, tile, wide, g.ow) : line(tiling, how, tile, wide, tiling.pixels(piece.first + y));
        }
      }
    }
  }
}
}  // namespace halfstep::kernels::channels_last::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::channels_last {
namespace {

using In = FusedConv2d::in;

Tensor packed(const Tiling& tiling, const Tensor& weights) {
  Tensor packed(DType::f32, {tiling.packed_size()});
  for (const Tiling::Block& block : tiling.blocks())
    tiling.pack(block, weights.data<float>().data(), packed.data<float>().data());
  return packed;
}

Plan plan_of(const Problem& problem, const ConvGeometry& geometry, const Activation& activation) {
  auto state = std::make_shared<TileState>(Tiling(geometry, lanes_of(problem.level)), activation,
                                           elementwise::activation_row(activation.kind, problem.level));
  state->piece = HS_SIMD_CHOOSE(problem.level, piece);
  const Tiling& tiling = state->tiling;
  Plan plan{.state = state,
            .worker_scratch = static_cast<size_t>(tiling.padded_size()) * sizeof(float),
            .phases = {tiling.pieces()}};
  if (const Tensor* constant = problem.constants[In::w]; constant != nullptr) {
    if (problem.runs) state->packed = packed(tiling, constant->in_memory());
    plan.packed = {In::w};
  } else {
    plan.scratch = static_cast<size_t>(tiling.packed_size()) * sizeof(float);
    plan.phases.insert(plan.phases.begin(), static_cast<int64_t>(tiling.blocks().size()));
  }
  return plan;
}

Plan prepare(const Problem& problem) { return plan_of(problem, conv_geometry_of(problem), activation_of(problem)); }

Plan prepare_product(const Problem& problem, const Activation& activation) {
  return plan_of(problem, product_geometry(problem.in[In::x]->dims, problem.in[In::w]->dims), activation);
}
Plan prepare_linear(const Problem& problem) { return prepare_product(problem, {}); }
Plan prepare_linear_activation(const Problem& problem) {
  const LinearActivation a(problem.attributes);
  return prepare_product(problem, Activation::of(a.activation, a.alpha));
}

/// Distance of rows that fall into the same set of a first-level cache.
constexpr int64_t kSamePlaces = 4096 / sizeof(float);

Verdict accept_product(const Problem& problem) {
  if (problem.constants[In::w] == nullptr)
    return refuse(errors::kernel_is_for_other_options("computed weights", "constant weights"));
  const int64_t depth = problem.in[In::x]->dims[1];
  if (depth != 0 && depth % kSamePlaces == 0)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("rows of {} elements", depth),
                                                    "rows that do not share places of the cache"));
  return accept_f32_images(problem);
}

/// Applies an activation that is not a clamp to the results of a piece, which are still in a cache.
void activate(const TileState& state, int64_t number, float* out) {
  const Tiling& tiling = state.tiling;
  const ConvGeometry& g = tiling.geometry();
  const Tiling::Piece piece = tiling.piece(number);
  const Tiling::Block& last = tiling.blocks()[static_cast<size_t>(piece.last_block - 1)];
  const int64_t channel = tiling.blocks()[static_cast<size_t>(piece.block)].channel;
  const int64_t channels = last.channel + last.channels - channel;
  for (int64_t n = piece.image; n < piece.image + piece.images; ++n) {
    for (int64_t y = piece.first; y < piece.first + piece.lines; ++y) {
      float* pixel = out + n * g.out_image() + y * g.ow * g.o + channel;
      const int64_t runs = channels == g.o ? 1 : tiling.pixels(y), run = channels * tiling.pixels(y) / runs;
      for (int64_t x = 0; x < runs; ++x, pixel += g.o) state.activate(state.activation, pixel, run);
    }
  }
}

Status run(const Call& call, int phase, int64_t number) {
  const auto& state = state_of<TileState>(call);
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  if (phase == 0 && !state.packed.defined()) {
    state.tiling.pack(state.tiling.blocks()[static_cast<size_t>(number)], call.in[In::w].as<const float>(), scratch);
    return {};
  }
  state.piece(state, call, state.packed.defined() ? state.packed.data<float>().data() : scratch, number);
  if (!is_bound(state.activation)) activate(state, number, call.out[0].as<float>());
  return {};
}

/// Works because a product has the operands of a convolution at equal positions.
Status run_product(const Call& call, int phase, int64_t number) {
  using Product = LinearActivation::in;
  static_assert(Product::x == In::x && Product::w == In::w && Product::b == In::b && Product::residual == In::residual);
  std::array<ConstView, 4> operands;
  std::ranges::copy(call.in, operands.begin());
  Call convolution = call;
  convolution.in = operands;
  return run(convolution, phase, number);
}

}  // namespace
}  // namespace halfstep::kernels::channels_last

namespace halfstep::kernels {

extern const Kernel cpu_linear_tiles{"tiles", channels_last::accept_product, channels_last::prepare_linear,
                                     channels_last::run_product};
extern const Kernel cpu_linear_activation_tiles{"tiles", channels_last::accept_product,
                                                channels_last::prepare_linear_activation, channels_last::run_product};
extern const Kernel cpu_fused_conv2d_tiles{"tiles", channels_last::accept_convolution, channels_last::prepare,
                                           channels_last::run};

}  // namespace halfstep::kernels
#endif
