#include "halfstep/kernels/integer/cpu/driver.h"

#include <algorithm>
#include <cstring>

#include "halfstep/base/divide.h"
#include "halfstep/base/tensor.h"
#include "halfstep/kernels/integer/cpu/interleave.h"
#include "halfstep/kernels/integer/cpu/packed.h"
#include "halfstep/kernels/integer/cpu/requantize.h"
#include "halfstep/kernels/integer/cpu/units.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels::integer {
namespace {

using In = IntegerConv2d::in;
static_assert(In::x == IntegerLinear::in::x && In::w == IntegerLinear::in::w && In::b == IntegerLinear::in::b &&
              In::shift == IntegerLinear::in::shift && In::multiplier == IntegerLinear::in::multiplier &&
              In::negative_shift == IntegerLinear::in::negative_shift &&
              In::negative_multiplier == IntegerLinear::in::negative_multiplier &&
              In::w_scale == IntegerLinear::in::w_scale);

/// Output channels of the largest block of any engine.
constexpr int64_t kMostOutputs = 32;

struct State {
  State(const Problem& problem, const Engine& chosen)
      : engine(chosen),
        layer(layer_of(problem)),
        tiling(layer, engine),
        packing(layer, tiling, engine),
        interleave(choose_interleave(problem.level, engine, layer)),
        requantize(choose_requantize(problem.level, layer)) {}

  Engine engine;
  Layer layer;
  Tiling tiling;
  Packing packing;
  Interleave interleave;
  Requantize requantize;
  Tensor packed;  ///< where the parameters are constant
};

template <class Data>
LayerParameters parameters_of(const Layer& layer, Data&& data) {
  const bool whole = !arith::traits(layer.form.form).is_engine;
  return {static_cast<const int8_t*>(data(In::w)), whole ? static_cast<const int32_t*>(data(In::b)) : nullptr,
          stored_steps(layer.form, layer.step_count, data)};
}

/// Whether every operand but x is constant or absent.
bool parameters_are_constant(const Problem& problem) {
  for (size_t i = 0; i < problem.in.size(); ++i) {
    if (i != In::x && problem.in[i] != nullptr && problem.constants[i] == nullptr) return false;
  }
  return true;
}

/// Pixel positions of a piece that hold results, and where these go in the output's planes.
class PixelMap {
 public:
  PixelMap(const State& state, const Piece& piece)
      : tiling_(state.tiling), rows_(piece.rows), columns_(state.layer.out[1]) {
    const Layer& layer = state.layer;
    image_outputs_ = layer.groups * layer.outputs * layer.out[0] * layer.out[1];
    packed_ = !tiling_.direct || (tiling_.padded_columns == columns_ && tiling_.padded_rows == rows_);
    image_span_ = packed_ ? rows_ * columns_ : tiling_.padded_rows * tiling_.padded_columns;
    size_ =
        (piece.images - 1) * image_span_ + (packed_ ? image_span_ : (rows_ - 1) * tiling_.padded_columns + columns_);
  }

  int64_t size() const { return size_; }

  /// visit(first position in the block, count, offset in the output from the piece's first pixel) for the positions of
  /// a block.
  template <class Visit>
  void for_each_run(int64_t begin, int64_t end, Visit&& visit) const {
    for (int64_t i = begin; i < end;) {
      const int64_t image = i / image_span_;
      const int64_t inside = i % image_span_;
      const int64_t width = packed_ ? image_span_ : tiling_.padded_columns;
      const int64_t row = inside / width;
      const int64_t column = inside % width;
      const int64_t valid = packed_ ? image_span_ : row < rows_ ? columns_ : 0;
      if (column < valid) {
        const int64_t count = std::min(end - i, valid - column);
        visit(i - begin, count, image * image_outputs_ + row * columns_ + column);
      }
      i += width - column;
    }
  }

 private:
  const Tiling& tiling_;
  int64_t rows_, columns_, image_outputs_, image_span_, size_;
  bool packed_;
};

/// Stores the codes of a block of outputs from channel `o` on.
template <class Code>
void store_codes(const State& state, const Piece& piece, const PixelMap& map, int64_t o, int64_t outputs, int64_t begin,
                 int64_t end, const Code* codes, Code* dst) {
  const Layer& layer = state.layer;
  const int64_t channels = layer.groups * layer.outputs;
  if (layer.linear) {
    dst += (piece.row + begin) * channels + o;
    for (int64_t p = 0; p < end - begin; ++p) {
      for (int64_t k = 0; k < outputs; ++k) dst[p * channels + k] = codes[k * kBlockPixels + p];
    }
    return;
  }
  const int64_t plane = layer.out[0] * layer.out[1];
  dst += (piece.image * channels + o) * plane + piece.row * layer.out[1];
  map.for_each_run(begin, end, [&](int64_t first, int64_t count, int64_t offset) {
    for (int64_t k = 0; k < outputs; ++k)
      std::memcpy(dst + k * plane + offset, codes + k * kBlockPixels + first,
                  static_cast<size_t>(count) * sizeof(Code));
  });
}

/// Memory of a running piece.
struct Workspace {
  Workspace(const State& state, std::byte* scratch)
      : units(reinterpret_cast<uint32_t*>(scratch)),
        patch(reinterpret_cast<uint32_t*>(scratch + state.tiling.units_bytes())),
        lay_out(scratch + state.tiling.units_bytes() + state.tiling.patch_bytes()) {}
  uint32_t* units;
  uint32_t* patch;
  std::byte* lay_out;
};

/// All outputs of one group for the pixel positions [begin, end).
void run_block(const State& state, const Call& call, const Piece& piece, const PixelMap& map, int64_t group,
               const Workspace& workspace, const std::byte* packed, int64_t begin, int64_t end) {
  alignas(kAlignment) int32_t acc[kMostOutputs * kBlockPixels];
  alignas(kAlignment) uint16_t codes[kMostOutputs * kBlockPixels];
  const Layer& layer = state.layer;
  const Tiling& tiling = state.tiling;
  const int64_t pixels = round_up(end - begin, kPixelLanes);
  if (!tiling.direct) copy_patch(layer, tiling, piece, workspace.units, begin, end - begin, workspace.patch);
  TileCall tile{.units = tiling.direct ? workspace.units + begin : workspace.patch,
                .offsets = tiling.offsets.data(),
                .rows = tiling.rows,
                .row_tile = tiling.row_tile,
                .pixels = pixels,
                .acc = acc};
  RequantizeCall requantize{
      .acc = acc, .pixels = pixels, .y_zero_point = layer.y_zero_point, .clamp = layer.clamp, .codes = codes};
  const int64_t last = piece.output + piece.outputs;
  for (int64_t o = piece.output; o < last; o += state.engine.outputs) {
    const int64_t block = o / state.engine.outputs;
    tile.weights = state.packing.weights(packed, group, block);
    tile.outputs = requantize.outputs = std::min(state.engine.outputs, last - o);
    state.engine.tile(tile);
    requantize.steps = state.packing.steps(packed, group, block);
    state.requantize(requantize);
    const int64_t channel = group * layer.outputs + o;
    const View& out = call.out[IntegerConv2d::out::out_];
    if (layer.wide_out) {
      store_codes(state, piece, map, channel, tile.outputs, begin, end, codes, out.as<uint16_t>());
    } else {
      store_codes(state, piece, map, channel, tile.outputs, begin, end, reinterpret_cast<const uint8_t*>(codes),
                  out.as<uint8_t>());
    }
  }
}

void run_piece(const State& state, const Call& call, const std::byte* packed, int64_t index) {
  const Piece piece = state.tiling.piece(index);
  const PixelMap map(state, piece);
  const Workspace workspace(state, call.worker_scratch);
  const UnitMaker maker{state.layer, state.tiling, state.engine, state.interleave};
  if (state.engine.begin != nullptr) state.engine.begin(state.tiling.row_tile);
  for (int64_t group = piece.group; group < piece.group + piece.groups; ++group) {
    maker.fill(call.in[In::x].data, piece, group, workspace.units, workspace.lay_out);
    for (int64_t begin = 0; begin < map.size(); begin += kBlockPixels)
      run_block(state, call, piece, map, group, workspace, packed, begin, std::min(map.size(), begin + kBlockPixels));
  }
  if (state.engine.end != nullptr) state.engine.end();
}

}  // namespace

Plan prepare_layer(const Problem& problem, const Engine& engine) {
  auto state = std::make_shared<State>(problem, engine);
  const Tiling& tiling = state->tiling;
  Plan plan;
  plan.worker_scratch = tiling.units_bytes() + tiling.patch_bytes() + tiling.lay_out_bytes();
  plan.phases = {tiling.pieces()};
  if (parameters_are_constant(problem)) {
    state->packed = Tensor(DType::u8, {static_cast<int64_t>(state->packing.bytes())});
    const auto parameters = parameters_of(state->layer, [&](int i) { return problem.constants[i]; });
    const Status status = pack(state->layer, tiling, engine, parameters, state->packed.raw());
    if (!status.ok()) fail("{}", status.message());
  } else {
    plan.scratch = state->packing.bytes();
    plan.phases.insert(plan.phases.begin(), 1);
  }
  plan.state = std::move(state);
  return plan;
}

Status run_layer(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<State>(call);
  const bool packs = !state.packed.defined();
  if (packs && phase == 0) {
    const auto parameters = parameters_of(state.layer, [&](int i) { return call.in[i].data; });
    return pack(state.layer, state.tiling, state.engine, parameters, call.scratch);
  }
  run_piece(state, call, packs ? call.scratch : state.packed.raw(), piece);
  return {};
}

}  // namespace halfstep::kernels::integer
