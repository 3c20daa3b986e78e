#include "halfstep/engine/kernels/codes/training/cpu/layer.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/codes/training/layer_parameters.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

namespace halfstep::kernels::training {
namespace {

using In = QuantizedConv2d::in;
using Out = QuantizedConv2d::out;

/// Multiplications of a piece. They take long compared with the microseconds of a library call, and short compared with
/// a layer.
constexpr int64_t kPieceWork = int64_t{1} << 23;
/// A layer of few images is cut by output channels until it has this many pieces.
constexpr int64_t kFewPieces = 8;
/// Without groups, the output channels of a part are a multiple of this, because the library blocks them.
constexpr int64_t kOutputBlock = 32;

/// The least and the largest number of each channel.
struct Extremes {
  Extremes(int32_t* numbers, int64_t count) : low(numbers), high(numbers + count) {}

  void clear(int64_t count) const {
    std::fill_n(low, count, std::numeric_limits<int32_t>::max());
    std::fill_n(high, count, std::numeric_limits<int32_t>::min());
  }

  int32_t *low, *high;
};

struct State {
  State(const Layer& cut_layer, const Cut& layer_cut, std::unique_ptr<const Accumulator> chosen, CpuLevel level)
      : layer(cut_layer), cut(layer_cut), accumulator(std::move(chosen)), rows(row_functions(level)) {}

  size_t step_bytes() const { return aligned(static_cast<size_t>(layer.geometry.o) * sizeof(Step)); }
  size_t sums_bytes(int64_t images) const {
    return aligned(static_cast<size_t>(images * cut.outputs * layer.pixels()) * sizeof(int32_t));
  }
  size_t tile_bytes() const { return sums_bytes(cut.images); }
  /// For a matrix product: its columns of sums, then of codes. For a channels-last tile: the planes of an image.
  size_t column_bytes() const {
    if (layer.linear) return tile_bytes() + tile_bytes() / 2;
    return accumulator->channels_last() ? sums_bytes(1) : 0;
  }

  size_t shared_bytes() const { return aligned(accumulator->shared_bytes()); }
  /// Least, then largest accumulators of each piece, by channel.
  size_t extremes_bytes() const { return static_cast<size_t>(cut.pieces() * 2 * cut.outputs) * sizeof(int32_t); }

  const Step* steps(const Call& call) const { return reinterpret_cast<const Step*>(call.scratch); }
  int32_t* tile(const Call& call) const { return reinterpret_cast<int32_t*>(call.worker_scratch); }
  std::byte* column(const Call& call) const { return call.worker_scratch + tile_bytes(); }
  Workspace workspace(const Call& call) const {
    return {call.scratch + step_bytes(), call.worker_scratch + tile_bytes() + column_bytes()};
  }
  Extremes extremes(const Call& call, int64_t piece) const {
    auto* all = reinterpret_cast<int32_t*>(call.scratch + step_bytes() + shared_bytes());
    return {all + piece * 2 * cut.outputs, cut.outputs};
  }
  void requantize(const RequantizeRow& row) const { rows.requantize(layer.out, row); }

  Layer layer;
  Cut cut;
  std::unique_ptr<const Accumulator> accumulator;
  const RowFunctions& rows;
};

/// The sum modulo 2^32, like accumulators.
int32_t weight_sum(const int8_t* weights, int64_t count) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += weights[i];
  return sum;
}

Status derive(const State& state, const Call& call) {
  const LayerOperands scales(call);
  if (Status status = check_zero_point(scales.x_zero_point, state.layer.x); !status.ok()) return status;
  const auto* weights = call.in[In::w].as<const int8_t>();
  const int64_t filter = state.layer.geometry.filter();
  const arith::EngineLayer engine_layer = state.layer.engine_layer();
  const bool adds_bias = !arith::traits(state.layer.rule.form).is_engine;
  auto* steps = reinterpret_cast<Step*>(call.scratch);
  for (int64_t o = 0; o < state.layer.geometry.o; ++o) {
    Step& step = *std::construct_at(steps + o);
    if (Status status = scales.derive(state.layer.rule, engine_layer, o, step.requantizer); !status.ok()) return status;
    uint32_t correction = 0;
    if (state.accumulator->raw_codes())
      correction -=
          static_cast<uint32_t>(scales.x_zero_point) * static_cast<uint32_t>(weight_sum(weights + o * filter, filter));
    const int32_t bias = scales.bias_code(o);
    step.shown_bias = adds_bias ? 0 : bias;
    step.bias = static_cast<int32_t>(correction + static_cast<uint32_t>(adds_bias ? bias : 0));
  }
  return state.accumulator->pack(weights, state.workspace(call));
}

RequantizeRow row_of(const State& state, const LayerOperands& scales) {
  RequantizeRow row;
  row.zero_point = scales.y_zero_point;
  row.clamp = state.layer.rule.clamp(scales.y_scale, scales.y_zero_point);
  return row;
}

void* code_at(const State& state, const View& out, int64_t index) {
  return out.as<std::byte>() + (is_wide(state.layer.out) ? 2 * index : index);
}

void finish_planes(const State& state, const Call& call, const Piece& piece, const Extremes& extremes) {
  RequantizeRow row = row_of(state, LayerOperands(call));
  row.size = state.layer.pixels();
  const int32_t* image = state.tile(call);
  auto* planes = reinterpret_cast<int32_t*>(state.column(call));
  const View& acc = call.out[Out::acc];
  row.past_caches = acc.present() && past_caches(acc.size());
  for (int64_t n = piece.image; n < piece.image + piece.images; ++n, image += piece.outputs * row.size) {
    row.sums = image;
    if (state.accumulator->channels_last()) {
      state.rows.transpose(image, row.size, piece.outputs, planes);
      row.sums = planes;
    }
    for (int64_t o = piece.output; o < piece.output + piece.outputs; ++o) {
      const int64_t index = (n * state.layer.geometry.o + o) * row.size;
      row.step = state.steps(call)[o];
      row.acc = acc.present() ? acc.as<int32_t>() + index : nullptr;
      row.codes = code_at(state, call.out[Out::out_], index);
      if (acc.present()) {
        const int64_t k = o - piece.output;
        const auto bias = static_cast<uint32_t>(row.step.bias) + static_cast<uint32_t>(row.step.shown_bias);
        state.rows.widen(row.sums, row.size, static_cast<int32_t>(bias), extremes.low[k], extremes.high[k]);
      }
      state.requantize(row);
      row.sums += row.size;
    }
  }
  if (row.past_caches) hwy::FlushStream();
}

/// Transposes `columns` back to rows and stores them at the piece's position in a result.
template <class Element, class Turn>
void put_columns(const State& state, const View& result, const Piece& piece, const Element* columns, Element* rows,
                 Turn&& turn) {
  turn(columns, piece.outputs, piece.images, rows);
  const int64_t all = state.layer.geometry.o;
  for (int64_t n = 0; n < piece.images; ++n)
    std::copy_n(rows + n * piece.outputs, piece.outputs, result.as<Element>() + (piece.image + n) * all + piece.output);
}

bool finish_rows(const State& state, const Call& call, const Piece& piece) {
  const LayerOperands scales(call);
  const View& acc = call.out[Out::acc];
  MatrixTile tile;
  tile.sums = state.tile(call);
  tile.rows = piece.images;
  tile.channels = piece.outputs;
  tile.steps = state.steps(call) + piece.output;
  tile.zero_point = scales.y_zero_point;
  tile.clamp = state.layer.rule.clamp(scales.y_scale, scales.y_zero_point);
  tile.stride = state.layer.geometry.o;
  const int64_t first = piece.image * tile.stride + piece.output;
  if (acc.present()) tile.acc = acc.as<int32_t>() + first;
  tile.codes = code_at(state, call.out[Out::out_], first);
  return state.rows.requantize_matrix(state.layer.out, tile);
}

/// Finishes a piece that finish_rows refuses, column by column. A row of requantization then has one channel, and one
/// set of parameters.
void finish_columns(const State& state, const Call& call, const Piece& piece) {
  RequantizeRow row = row_of(state, LayerOperands(call));
  int32_t* rows = state.tile(call);
  auto* sums = reinterpret_cast<int32_t*>(state.column(call));
  std::byte* codes = state.column(call) + state.tile_bytes();
  const bool wide = is_wide(state.layer.out);
  state.rows.transpose(rows, piece.images, piece.outputs, sums);
  row.size = piece.images;
  for (int64_t k = 0; k < piece.outputs; ++k) {
    row.sums = row.acc = sums + k * row.size;
    row.codes = codes + (wide ? 2 : 1) * k * row.size;
    row.step = state.steps(call)[piece.output + k];
    state.requantize(row);
  }
  const View& acc = call.out[Out::acc];
  if (acc.present()) put_columns(state, acc, piece, sums, rows, state.rows.transpose);
  const View& out = call.out[Out::out_];
  if (!wide)
    return put_columns(state, out, piece, reinterpret_cast<const uint8_t*>(codes), reinterpret_cast<uint8_t*>(rows),
                       state.rows.transpose_bytes);
  const auto* words = reinterpret_cast<const uint16_t*>(codes);
  for (int64_t n = 0; n < piece.images; ++n) {
    uint16_t* to = out.as<uint16_t>() + (piece.image + n) * state.layer.geometry.o + piece.output;
    for (int64_t k = 0; k < piece.outputs; ++k) to[k] = words[k * piece.images + n];
  }
}

/// Updates the extremes with the stored accumulators of a piece of a matrix product.
void widen_rows(const State& state, const Call& call, const Piece& piece, const Extremes& extremes) {
  const int64_t all = state.layer.geometry.o;
  const int32_t* row = call.out[Out::acc].as<const int32_t>() + piece.image * all + piece.output;
  for (int64_t n = 0; n < piece.images; ++n, row += all)
    state.rows.widen_each(row, piece.outputs, extremes.low, extremes.high);
}

/// Joins the extremes of all pieces.
void join_extremes(const State& state, const Call& call) {
  const int64_t all = state.layer.geometry.o;
  const Extremes result(call.out[Out::extremes].as<int32_t>(), all);
  result.clear(all);
  for (int64_t index = 0; index < state.cut.pieces(); ++index) {
    const Piece piece = state.cut.piece(index);
    const Extremes part = state.extremes(call, index);
    for (int64_t k = 0; k < piece.outputs; ++k) {
      int32_t &low = result.low[piece.output + k], &high = result.high[piece.output + k];
      low = std::min(low, part.low[k]);
      high = std::max(high, part.high[k]);
    }
  }
}

}  // namespace

Layer::Layer(const Problem& problem) : linear(problem.in[In::x]->dims.size() == 2) {
  const Dims& x_dims = problem.in[In::x]->dims;
  const Type& w = *problem.in[In::w];
  x = problem.in[In::x]->dtype;
  out = problem.out[Out::out_]->dtype;
  largest_weight = w.dtype == DType::i4 ? 8 : 128;
  if (linear) {
    geometry = {x_dims[0], x_dims[1], 1, 1, w.dims[0], 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}};
    rule = requantize_rule(QuantizedLinear(problem.attributes));
  } else {
    const QuantizedConv2d attributes(problem.attributes);
    geometry = conv_geometry(attributes, x_dims, w.dims, problem.out[Out::out_]->dims);
    rule = requantize_rule(attributes);
  }
}

Cut::Cut(const Layer& layer) : all_images_(layer.geometry.n), all_outputs_(layer.geometry.o) {
  const ConvGeometry& g = layer.geometry;
  const int64_t image_work = std::max<int64_t>(1, g.image_flops() / 2);
  images = std::clamp<int64_t>(kPieceWork / image_work, 1, std::max<int64_t>(1, g.n));
  image_parts = ceil_div(g.n, images);
  const int64_t work = images * image_work;
  const int64_t wanted = image_parts >= kFewPieces ? 1 : std::min(kFewPieces, work / kPieceWork + 1);
  const int64_t block = g.groups > 1 ? g.group_out() : kOutputBlock;
  outputs = std::min(g.o, ceil_div(ceil_div(g.o, block), wanted) * block);
  output_parts = ceil_div(g.o, outputs);
}

Cut::Cut(const Layer& layer, int64_t images_of_piece)
    : images(images_of_piece),
      outputs(layer.geometry.o),
      image_parts(ceil_div(layer.geometry.n, images_of_piece)),
      all_images_(layer.geometry.n),
      all_outputs_(layer.geometry.o) {}

Piece Cut::piece(int64_t index) const {
  Piece piece;
  piece.image = index / output_parts * images;
  piece.images = std::min(images, all_images_ - piece.image);
  piece.output = index % output_parts * outputs;
  piece.outputs = std::min(outputs, all_outputs_ - piece.output);
  return piece;
}

Plan prepare_layer(const Problem& problem, const Layer& layer, const Cut& cut,
                   std::unique_ptr<const Accumulator> accumulator) {
  auto state = std::make_shared<State>(layer, cut, std::move(accumulator), problem.level);
  Plan plan;
  plan.scratch = state->step_bytes() + state->shared_bytes() + state->extremes_bytes();
  plan.worker_scratch = state->tile_bytes() + state->column_bytes() + state->accumulator->worker_bytes();
  plan.phases = {1, cut.pieces(), 1};
  plan.state = std::move(state);
  return plan;
}

Status run_layer(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<State>(call);
  const bool shows_sums = call.out[Out::acc].present();
  if (phase == 0) return derive(state, call);
  if (phase == 2) {
    if (shows_sums) join_extremes(state, call);
    return {};
  }
  const AccumulateCall accumulate{call.in[In::x].data, call.in[In::w].as<const int8_t>(),
                                  *call.in[In::x_zero_point].as<const int32_t>()};
  Status status = state.accumulator->accumulate(accumulate, piece, state.workspace(call), state.tile(call));
  if (!status.ok()) return status;
  const Piece part = state.cut.piece(piece);
  const Extremes extremes = state.extremes(call, piece);
  extremes.clear(part.outputs);
  if (!state.layer.linear) {
    finish_planes(state, call, part, extremes);
    return {};
  }
  if (!finish_rows(state, call, part)) finish_columns(state, call, part);
  if (shows_sums) widen_rows(state, call, part, extremes);
  return {};
}

}  // namespace halfstep::kernels::training
