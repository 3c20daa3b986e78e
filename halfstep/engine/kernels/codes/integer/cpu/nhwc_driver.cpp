#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_driver.h"

#include <algorithm>
#include <cstring>

namespace halfstep::kernels::integer {
namespace {

using Op = IntegerConv2d;

struct State {
  State(const Problem& problem, const NhwcEngine& chosen)
      : engine(chosen),
        layer(problem),
        tiling(layer, engine),
        codes(choose_codes(problem.level, layer.form.form, layer.form.rounding, layer.wide_out)) {}

  /// Size of the packed weights, then the steps of each block's vectors.
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
      lanes[0].is_general = lanes[0].is_general || lanes[1].is_general;
    }
    return {};
  }

  NhwcEngine engine;
  NhwcLayer layer;
  NhwcTiling tiling;
  CodesOfForm codes;
  Tensor packed;  ///< packed constant parameters
};

/// Tiles [begin, end) of a piece, which go through the piece's blocks.
class Tiles {
 public:
  Tiles(const State& state, const NhwcTiling::Piece& piece, int64_t begin, int64_t end)
      : state_(state), tiling_(state.tiling), count_(end - begin) {
    for (int64_t t = begin; t < end; ++t) spots_[t - begin] = tiling_.spot(piece, t);
  }

  void run(int64_t b, const std::byte* packed, const std::byte* x, std::byte* out) {
    const NhwcTiling::Block& block = tiling_.blocks()[static_cast<size_t>(b)];
    const LaneSteps* steps = state_.steps(packed, b);
    const ToCodes to_codes = steps->is_general ? state_.codes.general : state_.codes.plain;
    const int64_t code_bytes = state_.layer.wide_out ? 2 : 1;
    NhwcTile tile{.bias = steps->bias,
                  .bias_step = sizeof(LaneSteps) / sizeof(int32_t),
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
        const auto& [_, to, known, end] = spots_[t + i];
        to_codes(state_.layer.range, {.acc = acc_ + (i * kTilePixels + known) * kBlockOutputs,
                                      .steps = steps,
                                      .dst = out + (to + known * tiling_.out_step() + block.channel) * code_bytes,
                                      .step = tiling_.out_step(),
                                      .pixels = end - known,
                                      .channels = block.channels});
      }
    }
  }

 private:
  const State& state_;
  const NhwcTiling& tiling_;
  int64_t count_;
  NhwcTiling::Spot spots_[NhwcTiling::kMostTiles];
  alignas(64) int32_t acc_[(2 * kTilePixels + kRowsBehind) * kBlockOutputs];
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
  if (!status.ok()) fail(status.diagnostic());
  return plan;
}

Status run_nhwc(const Call& call, int phase, int64_t number) {
  const auto& state = state_of<State>(call);
  const bool packs = !state.packed.defined();
  if (packs && phase == 0)
    return state.pack(NhwcParameters::of(state.layer, [&](int i) { return call.in[i].data; }), call.scratch);
  const NhwcTiling& tiling = state.tiling;
  const NhwcTiling::Piece piece = tiling.piece(number);
  const std::byte* x = tiling.enter(call.in[Op::in::x].as<const std::byte>(), piece, call.worker_scratch);
  const std::byte* packed = packs ? call.scratch : state.packed.raw();
  const int64_t count = piece.images * piece.lines * tiling.tiles_of_line();
  if (state.engine.begin != nullptr) state.engine.begin(tiling.tile_pixels(), tiling.chunk());
  for (int64_t begin = 0; begin < count; begin += tiling.together()) {
    Tiles tiles(state, piece, begin, std::min(count, begin + tiling.together()));
    for (int64_t b = piece.block; b < piece.last_block; ++b) tiles.run(b, packed, x, call.out[0].as<std::byte>());
  }
  if (state.engine.end != nullptr) state.engine.end();
  return {};
}

}  // namespace halfstep::kernels::integer
