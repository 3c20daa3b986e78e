// fake_channel_wise_quantize_dequantize_abs_max on vectors: along the runs of a channel, or across channels where a run
// is one element (the weight [in, out] of a linear layer on axis 1).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/paddle/cpu/channel_wise.cpp"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <memory>

#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/paddle/cpu/rule-inl.h"
#include "halfstep/kernels/quantize/blocks.h"

#ifndef HALFSTEP_KERNELS_PADDLE_CPU_CHANNEL_WISE_ONCE
#define HALFSTEP_KERNELS_PADDLE_CPU_CHANNEL_WISE_ONCE
namespace halfstep::kernels::paddle {

/// Largest magnitude of a run that is not NaN.
using RunLargest = float (*)(const float* src, int64_t size);
/// Raises largest[c] to the magnitudes of column c in `rows` rows.
using ColumnsLargest = void (*)(const float* src, int64_t rows, int64_t columns, float* largest);
/// Elements [begin, end), each with the scale of its channel.
using QuantizeChannels = void (*)(const Channels& channels, const float* scale, float q, const float* src, float* dst,
                                  int64_t begin, int64_t end);

}  // namespace halfstep::kernels::paddle
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {
#if HS_SIMD_TARGET

float largest_of_run(const float* src, int64_t size) { return largest_magnitude(src, size); }

void largest_of_columns(const float* src, int64_t rows, int64_t columns, float* largest) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row, src += columns) {
    for (int64_t c = 0; c < columns; c += lanes) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(std::min(lanes, columns - c)));
      const auto x = hn::MaskedLoad(mask, d, src + c);
      const auto top = hn::IfThenElseZero(hn::Eq(x, x), hn::Abs(x));
      hn::BlendedStore(hn::Max(hn::MaskedLoad(mask, d, largest + c), top), mask, d, largest + c);
    }
  }
}

template <bool kHalfEven>
void quantize_runs(const Channels& channels, const float* scale, float q, const float* src, float* dst, int64_t begin,
                   int64_t end) {
  for (RunWalk run(channels, begin, end); run.next();) {
    const Quantizer<kHalfEven> quantizer(hn::Set(F32(), scale[run.channel()]), q);
    quantize_run(quantizer, src + run.begin(), dst + run.begin(), run.size());
  }
}

template <bool kHalfEven>
void quantize_columns(const Channels& channels, const float* scale, float q, const float* src, float* dst,
                      int64_t begin, int64_t end) {
  const F32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Channels row{channels.outer, 1, channels.count};
  for (RunWalk run(row, begin, end); run.next();) {
    const float* scales = scale + run.begin() % channels.count;
    for (int64_t i = 0; i < run.size(); i += lanes) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(std::min(lanes, run.size() - i)));
      const Quantizer<kHalfEven> quantizer(hn::MaskedLoad(mask, d, scales + i), q);
      hn::BlendedStore(quantizer(hn::MaskedLoad(mask, d, src + run.begin() + i)), mask, d, dst + run.begin() + i);
    }
  }
}

QuantizeChannels choose_quantize(bool half_even, bool columns) {
  if (columns) return half_even ? &quantize_columns<true> : &quantize_columns<false>;
  return half_even ? &quantize_runs<true> : &quantize_runs<false>;
}

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace paddle {
namespace {

using Op = FakeChannelWiseQuantizeDequantizeAbsMax;

struct ChannelState {
  Rule rule;
  int64_t axis;
  Channels channels;
  Blocks blocks;
  int64_t row_pieces = 0;  ///< of the search across channels; 0: along runs
  RunLargest run_largest = nullptr;
  ColumnsLargest columns_largest = nullptr;
  QuantizeChannels quantize = nullptr;

  int64_t rows_per_piece() const { return std::max<int64_t>(1, kPieceElements / channels.count); }
  int64_t search_pieces() const { return std::max<int64_t>(1, row_pieces > 0 ? row_pieces : blocks.pieces()); }
  int64_t partials() const { return row_pieces > 0 ? row_pieces * channels.count : blocks.count(); }
};

bool has_columns(const Channels& channels, int64_t axis) {
  return axis == 1 && channels.run == 1 && channels.count > 1;
}

Channels channels_of(const Problem& problem) {
  return Channels::of(problem.in[Op::in::x]->dims, Op(problem.attributes).quant_axis);
}

Verdict accept(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Channels channels = channels_of(problem);
  return has_columns(channels, Op(problem.attributes).quant_axis) ? Verdict::accepted() : accept_run(channels);
}

/// Scratch: the scales, then the largest magnitudes of the pieces that the search is cut into.
Plan prepare(const Problem& problem) {
  const Op attributes(problem.attributes);
  auto state = std::make_shared<ChannelState>();
  state->rule = Rule::of(attributes.bit_length, attributes.round_type);
  state->axis = attributes.quant_axis;
  state->channels = channels_of(problem);
  state->blocks = Blocks(state->channels);
  const bool columns = has_columns(state->channels, state->axis);
  if (columns) state->row_pieces = (state->channels.outer + state->rows_per_piece() - 1) / state->rows_per_piece();
  state->run_largest = HS_SIMD_CHOOSE(problem.level, largest_of_run);
  state->columns_largest = HS_SIMD_CHOOSE(problem.level, largest_of_columns);
  state->quantize = HS_SIMD_CHOOSE(problem.level, choose_quantize)(state->rule.half_even, columns);
  return {.state = state,
          .scratch = static_cast<size_t>(state->channels.count + state->partials()) * sizeof(float),
          .phases = {state->search_pieces(), 1, pieces_of(state->channels.size())}};
}

void search_runs(const float* src, const ChannelState& state, int64_t piece, float* partials) {
  const Blocks& blocks = state.blocks;
  for (int64_t block = blocks.piece_begin(piece); block < blocks.piece_end(piece); ++block) {
    partials[block] = 0.0F;
    blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t run_begin) {
      if (state.axis == 1 && std::isnan(src[run_begin])) return;
      partials[block] = std::max(partials[block], state.run_largest(src + begin, size));
    });
  }
}

void search_columns(const float* src, const ChannelState& state, int64_t piece, float* partials) {
  const int64_t columns = state.channels.count;
  const int64_t row = piece * state.rows_per_piece();
  const int64_t rows = std::min(state.rows_per_piece(), state.channels.outer - row);
  std::fill_n(partials + piece * columns, columns, 0.0F);
  state.columns_largest(src + row * columns, rows, columns, partials + piece * columns);
}

float scale_of(const float* src, const ChannelState& state, int64_t channel, const float* partials) {
  if (state.axis == 0 && state.channels.size() > 0 && std::isnan(src[channel * state.channels.run]))
    return std::fabs(src[channel * state.channels.run]);
  const bool columns = state.row_pieces > 0;
  const int64_t count = columns ? state.row_pieces : state.blocks.per_channel();
  float largest = 0.0F;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, partials[columns ? i * state.channels.count + channel : channel * count + i]);
  return largest;
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = *static_cast<const ChannelState*>(call.state);
  const auto* src = call.in[Op::in::x].as<const float>();
  auto* scales = reinterpret_cast<float*>(call.scratch);
  float* partials = scales + state.channels.count;
  if (phase == 0) {
    (state.row_pieces > 0 ? search_columns : search_runs)(src, state, piece, partials);
  } else if (phase == 1) {
    for (int64_t c = 0; c < state.channels.count; ++c) scales[c] = scale_of(src, state, c, partials);
    std::copy_n(scales, state.channels.count, call.out[Op::out::out_scale].as<float>());
  } else {
    const int64_t begin = piece * kPieceElements;
    state.quantize(state.channels, scales, state.rule.q, src, call.out[Op::out::out_].as<float>(), begin,
                   std::min(begin + kPieceElements, state.channels.size()));
  }
  return {};
}

}  // namespace
}  // namespace paddle

const Kernel cpu_fake_channel_wise_quantize_dequantize_abs_max_simd = {"simd", paddle::accept, paddle::prepare,
                                                                       paddle::run};

}  // namespace halfstep::kernels
#endif
