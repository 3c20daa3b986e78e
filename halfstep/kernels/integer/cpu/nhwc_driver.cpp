#include "halfstep/kernels/integer/cpu/nhwc_driver.h"

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

/// With one vector of channels four pixels at a time, with two of them two. Rows of sums behind the last pixel's are
/// read, and their codes go nowhere.
template <class Lanes>
HS_LANES void to_codes(const int32_t* acc, const LaneSteps* steps, const CodeRange& range, const TileCodes& to) {
  const ByteCodes codes(range);
  const Lanes first(steps[0], range);
  const auto sums = [&](int64_t at) HS_LANES { return _mm512_load_si512(acc + at); };
  uint8_t* dst = to.dst;
  const int64_t step = to.step;
  int64_t left = to.pixels;
  if (to.channels <= kLanes) {
    const auto inside = static_cast<__mmask16>((1U << to.channels) - 1);
    for (; left > 0; left -= 4, dst += 4 * step, acc += 4 * kBlockOutputs) {
      const __m512i four = codes.in_order(first(sums(0)), first(sums(kBlockOutputs)), first(sums(2 * kBlockOutputs)),
                                          first(sums(3 * kBlockOutputs)));
      _mm_mask_storeu_epi8(dst, inside, _mm512_castsi512_si128(four));
      if (left > 1) _mm_mask_storeu_epi8(dst + step, inside, _mm512_extracti32x4_epi32(four, 1));
      if (left > 2) _mm_mask_storeu_epi8(dst + 2 * step, inside, _mm512_extracti32x4_epi32(four, 2));
      if (left > 3) _mm_mask_storeu_epi8(dst + 3 * step, inside, _mm512_extracti32x4_epi32(four, 3));
    }
    return;
  }
  const Lanes second(steps[1], range);
  const auto inside = static_cast<__mmask32>((uint64_t{1} << to.channels) - 1);
  for (; left > 0; left -= 2, dst += 2 * step, acc += 2 * kBlockOutputs) {
    const __m512i two = codes.in_order(first(sums(0)), second(sums(kLanes)), first(sums(kBlockOutputs)),
                                       second(sums(kBlockOutputs + kLanes)));
    _mm256_mask_storeu_epi8(dst, inside, _mm512_castsi512_si256(two));
    if (left > 1) _mm256_mask_storeu_epi8(dst + step, inside, _mm512_extracti64x4_epi64(two, 1));
  }
}

struct State {
  State(const Problem& problem, const NhwcEngine& chosen)
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

  Status pack(const NhwcParameters& from, std::byte* memory) const {
    if (Status status = from.steps.check(layer.geometry.o); !status.ok()) return status;
    std::memset(memory, 0, static_cast<size_t>(bytes()));
    tiling.pack(from.weights, memory);
    for (size_t b = 0; b < tiling.blocks().size(); ++b) {
      const NhwcTiling::Block& block = tiling.blocks()[b];
      auto* lanes = const_cast<LaneSteps*>(steps(memory, static_cast<int64_t>(b)));
      for (int64_t j = 0; j < block.channels; ++j)
        set_lane(layer, from, block.channel + j, lanes[j / kLanes], j % kLanes);
    }
    return {};
  }

  NhwcEngine engine;
  NhwcLayer layer;
  NhwcTiling tiling;
  decltype(&to_codes<FloatLanes>) codes;
  Tensor packed;  ///< where the parameters are constant
};

/// Tiles [begin, end) of a piece, to go through its blocks.
class Tiles {
 public:
  Tiles(const State& state, const NhwcTiling::Piece& piece, int64_t begin, int64_t end)
      : state_(state), tiling_(state.tiling), count_(end - begin) {
    for (int64_t t = begin; t < end; ++t) spots_[t - begin] = tiling_.spot(piece, t);
  }

  void run(int64_t b, const std::byte* packed, const uint8_t* x, uint8_t* out) {
    const NhwcTiling::Block& block = tiling_.blocks()[static_cast<size_t>(b)];
    NhwcTile tile{.bias = state_.steps(packed, b),
                  .weights = packed + block.weights,
                  .runs = tiling_.runs().data(),
                  .run_count = static_cast<int64_t>(tiling_.runs().size()),
                  .steps = tiling_.steps(),
                  .chunk = tiling_.chunk(),
                  .pixel_step = tiling_.pixel_step(),
                  .tiles = 2,
                  .pixels = tiling_.tile_pixels(),
                  .vectors = block.vectors(),
                  .acc = acc_};
    for (int64_t t = 0; t < count_; t += 2) {
      tile.tiles = std::min<int64_t>(2, count_ - t);
      for (int64_t i = 0; i < tile.tiles; ++i) tile.x[i] = x + spots_[t + i].x + block.x;
      state_.engine.tile(tile);
      for (int64_t i = 0; i < tile.tiles; ++i) {
        const auto& [_, to, known] = spots_[t + i];
        state_.codes(acc_ + (i * kTilePixels + known) * kBlockOutputs, tile.bias, state_.layer.range,
                     {.dst = out + to + known * tiling_.out_step() + block.channel,
                      .step = tiling_.out_step(),
                      .pixels = tile.pixels - known,
                      .channels = block.channels});
      }
    }
  }

 private:
  const State& state_;
  const NhwcTiling& tiling_;
  int64_t count_;
  NhwcTiling::Spot spots_[NhwcTiling::kMostTiles];
  alignas(64) int32_t acc_[(2 * kTilePixels + 4) * kBlockOutputs];
};

}  // namespace

Plan prepare_nhwc(const Problem& problem, const NhwcEngine& engine) {
  auto state = std::make_shared<State>(problem, engine);
  Plan plan{.state = state,
            .worker_scratch = static_cast<size_t>(state->tiling.scratch_bytes()),
            .phases = {state->tiling.pieces()}};
  const Status status =
      pack_constant(problem, state->layer, state->bytes(), state->packed, plan,
                    [&](const NhwcParameters& from, std::byte* memory) { return state->pack(from, memory); });
  if (!status.ok()) fail("{}", status.message());
  return plan;
}

Status run_nhwc(const Call& call, int phase, int64_t number) {
  const auto& state = state_of<State>(call);
  const bool packs = !state.packed.defined();
  if (packs && phase == 0)
    return state.pack(NhwcParameters::of(state.layer, [&](int i) { return call.in[i].data; }), call.scratch);
  const NhwcTiling& tiling = state.tiling;
  const NhwcTiling::Piece piece = tiling.piece(number);
  const uint8_t* x =
      tiling.enter(call.in[Op::in::x].as<const uint8_t>(), piece, reinterpret_cast<uint8_t*>(call.worker_scratch));
  const std::byte* packed = packs ? call.scratch : state.packed.raw();
  const int64_t count = piece.images * piece.lines * tiling.tiles_of_line();
  if (state.engine.begin != nullptr) state.engine.begin(tiling.tile_pixels(), tiling.chunk());
  for (int64_t begin = 0; begin < count; begin += tiling.together()) {
    Tiles tiles(state, piece, begin, std::min(count, begin + tiling.together()));
    for (int64_t b = piece.block; b < piece.last_block; ++b) tiles.run(b, packed, x, call.out[0].as<uint8_t>());
  }
  if (state.engine.end != nullptr) state.engine.end();
  return {};
}

}  // namespace halfstep::kernels::integer
