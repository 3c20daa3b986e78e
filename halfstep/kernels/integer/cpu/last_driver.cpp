#include "halfstep/kernels/integer/cpu/last_driver.h"

#include <algorithm>
#include <cstring>

namespace halfstep::kernels::integer {
namespace {

using Op = ChannelsLastIntegerConv2d;

/// Where the codes of a tile go: `channels` of every pixel.
struct TileCodes {
  uint8_t* dst;
  int64_t step, pixels, channels;
};

/// `pixels` rows of sums; with one vector of channels four pixels at a time, with two of them two.
template <class Lanes>
HS_LANES void to_codes(const int32_t* acc, const LaneSteps* steps, const CodeRange& range, const TileCodes& to) {
  const ByteCodes codes(range);
  const Lanes first(steps[0], range);
  const auto row = [&](int64_t p) { return acc + std::min(p, to.pixels - 1) * kBlockOutputs; };
  if (to.channels <= kLanes) {
    const auto inside = static_cast<__mmask16>((1U << to.channels) - 1);
    const auto steps_of = [&](int64_t p) HS_LANES { return first(_mm512_load_si512(row(p))); };
    for (int64_t p = 0; p < to.pixels; p += 4) {
      const __m512i four = codes.in_order(steps_of(p), steps_of(p + 1), steps_of(p + 2), steps_of(p + 3));
      uint8_t* dst = to.dst + p * to.step;
      const int64_t left = to.pixels - p;
      _mm_mask_storeu_epi8(dst, inside, _mm512_castsi512_si128(four));
      if (left > 1) _mm_mask_storeu_epi8(dst + to.step, inside, _mm512_extracti32x4_epi32(four, 1));
      if (left > 2) _mm_mask_storeu_epi8(dst + 2 * to.step, inside, _mm512_extracti32x4_epi32(four, 2));
      if (left > 3) _mm_mask_storeu_epi8(dst + 3 * to.step, inside, _mm512_extracti32x4_epi32(four, 3));
    }
    return;
  }
  const Lanes second(steps[1], range);
  const auto inside = static_cast<__mmask32>((uint64_t{1} << to.channels) - 1);
  for (int64_t p = 0; p < to.pixels; p += 2) {
    const int32_t *one = row(p), *next = row(p + 1);
    const __m512i two = codes.in_order(first(_mm512_load_si512(one)), second(_mm512_load_si512(one + kLanes)),
                                       first(_mm512_load_si512(next)), second(_mm512_load_si512(next + kLanes)));
    uint8_t* dst = to.dst + p * to.step;
    _mm256_mask_storeu_epi8(dst, inside, _mm512_castsi512_si256(two));
    if (p + 1 < to.pixels) _mm256_mask_storeu_epi8(dst + to.step, inside, _mm512_extracti64x4_epi64(two, 1));
  }
}

struct State {
  State(const Problem& problem, const LastEngine& chosen)
      : engine(chosen),
        layer(problem),
        tiling(layer, engine.tile_pixels),
        codes(layer.in_float() ? &to_codes<FloatLanes> : &to_codes<FixedLanes>) {}

  /// Weights, then the steps of each block's vectors.
  int64_t bytes() const {
    return steps_offset() + 2 * static_cast<int64_t>(tiling.blocks().size() * sizeof(LaneSteps));
  }
  int64_t steps_offset() const { return (tiling.packed_bytes() + 63) / 64 * 64; }
  const LaneSteps* steps(const std::byte* memory, int64_t block) const {
    return reinterpret_cast<const LaneSteps*>(memory + steps_offset()) + 2 * block;
  }

  Status pack(const LastParameters& from, std::byte* memory) const {
    if (Status status = from.steps.check(); !status.ok()) return status;
    std::memset(memory, 0, static_cast<size_t>(bytes()));
    tiling.pack(from.weights, memory);
    for (size_t b = 0; b < tiling.blocks().size(); ++b) {
      const LastTiling::Block& block = tiling.blocks()[b];
      auto* lanes = const_cast<LaneSteps*>(steps(memory, static_cast<int64_t>(b)));
      for (int64_t j = 0; j < block.channels; ++j)
        set_lane(layer, from, block.channel + j, lanes[j / kLanes], j % kLanes);
    }
    return {};
  }

  LastEngine engine;
  LastLayer layer;
  LastTiling tiling;
  decltype(&to_codes<FloatLanes>) codes;
  Tensor packed;  ///< where the parameters are constant
};

/// Tiles [begin, end) of a piece through all its blocks.
void run_tiles(const State& state, const LastTiling::Piece& piece, const std::byte* packed, const uint8_t* x,
               uint8_t* out, int64_t begin, int64_t end) {
  alignas(64) int32_t acc[2 * kTilePixels * kBlockOutputs];
  const LastTiling& tiling = state.tiling;
  LastTile tile{.bias = nullptr,
                .weights = nullptr,
                .runs = tiling.runs().data(),
                .run_count = static_cast<int64_t>(tiling.runs().size()),
                .steps = tiling.steps(),
                .chunk = tiling.chunk(),
                .pixel_step = tiling.pixel_step(),
                .tiles = 2,
                .pixels = tiling.tile_pixels(),
                .vectors = 2,
                .acc = acc};
  for (int64_t b = piece.block; b < piece.last_block; ++b) {
    const LastTiling::Block& block = tiling.blocks()[static_cast<size_t>(b)];
    tile.weights = packed + block.weights;
    tile.bias = state.steps(packed, b);
    tile.vectors = block.vectors();
    for (int64_t t = begin; t < end; t += 2) {
      LastTiling::Spot spots[2];
      tile.tiles = std::min<int64_t>(2, end - t);
      for (int64_t i = 0; i < tile.tiles; ++i) {
        spots[i] = tiling.spot(piece, t + i);
        tile.x[i] = x + spots[i].x + block.x;
      }
      state.engine.tile(tile);
      for (int64_t i = 0; i < tile.tiles; ++i) {
        const int64_t known = spots[i].known;
        if (known == tile.pixels) continue;
        state.codes(acc + (i * kTilePixels + known) * kBlockOutputs, tile.bias, state.layer.range,
                    {.dst = out + spots[i].out + known * tiling.out_step() + block.channel,
                     .step = tiling.out_step(),
                     .pixels = tile.pixels - known,
                     .channels = block.channels});
      }
    }
  }
}

}  // namespace

Plan prepare_last(const Problem& problem, const LastEngine& engine) {
  auto state = std::make_shared<State>(problem, engine);
  Plan plan{.state = state,
            .worker_scratch = static_cast<size_t>(state->tiling.scratch_bytes()),
            .phases = {state->tiling.pieces()}};
  const Status status =
      pack_constant(problem, state->layer, state->bytes(), state->packed, plan,
                    [&](const LastParameters& from, std::byte* memory) { return state->pack(from, memory); });
  if (!status.ok()) fail("{}", status.message());
  return plan;
}

Status run_last(const Call& call, int phase, int64_t number) {
  const auto& state = *static_cast<const State*>(call.state);
  const bool packs = !state.packed.defined();
  if (packs && phase == 0)
    return state.pack(LastParameters::of(state.layer, [&](int i) { return call.in[i].data; }), call.scratch);
  const LastTiling& tiling = state.tiling;
  const LastTiling::Piece piece = tiling.piece(number);
  const uint8_t* x = tiling.enter(call.in[Op::in::x].as<const uint8_t>(), piece,
                                  reinterpret_cast<uint8_t*>(call.worker_scratch));
  const std::byte* packed = packs ? call.scratch : state.packed.raw();
  const int64_t tiles = piece.images * piece.lines * tiling.tiles_of_line();
  if (state.engine.begin != nullptr) state.engine.begin(tiling.tile_pixels(), tiling.chunk());
  for (int64_t begin = 0; begin < tiles; begin += tiling.together())
    run_tiles(state, piece, packed, x, call.out[0].as<uint8_t>(), begin, std::min(tiles, begin + tiling.together()));
  if (state.engine.end != nullptr) state.engine.end();
  return {};
}

}  // namespace halfstep::kernels::integer
