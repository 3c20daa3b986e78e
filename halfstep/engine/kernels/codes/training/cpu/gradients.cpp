// Backward passes of requantizations on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/gradients.cpp"
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/codes/training/backward_rule.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/codes/training/layer_parameters.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/training/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

using Doubles = hn::Repartition<double, Ints>;
using DoubleVec = hn::Vec<Doubles>;

/// The lower or upper half of int32 or float lanes, in double.
template <bool kUpper, class V>
HWY_INLINE DoubleVec half_of(V v) {
  const hn::Half<hn::DFromV<V>> half;
  if constexpr (kUpper) {
    return hn::PromoteTo(Doubles(), hn::UpperHalf(half, v));
  } else {
    return hn::PromoteTo(Doubles(), hn::LowerHalf(half, v));
  }
}

/// out_grad * slope for half of a vector of elements. r is in steps of the scale.
template <bool kUpper>
HWY_INLINE DoubleVec scale_terms(const BackwardRule& rule, FloatVec out_grad, IntVec code, DoubleVec r) {
  const Doubles d;
  const DoubleVec codes = half_of<kUpper>(code);
  const DoubleVec inside = codes - hn::Set(d, static_cast<double>(rule.zero_point)) - r;
  const auto below = hn::Lt(codes, hn::Set(d, static_cast<double>(rule.clamp.low)));
  const auto above = hn::Gt(codes, hn::Set(d, static_cast<double>(rule.clamp.high)));
  const DoubleVec slope =
      hn::IfThenElse(below, hn::Set(d, rule.low_slope), hn::IfThenElse(above, hn::Set(d, rule.high_slope), inside));
  return half_of<kUpper>(out_grad) * slope;
}

/// Selects elements whose code (or accumulator) is outside of [low, high].
HWY_INLINE auto outside(IntVec low, IntVec high, IntVec code) {
  return hn::RebindMask(Floats(), hn::Or(hn::Lt(code, low), hn::Gt(code, high)));
}
/// out_grad if `code` (or accumulator) is in [low, high], otherwise 0.
HWY_INLINE FloatVec masked(IntVec low, IntVec high, FloatVec out_grad, IntVec code) {
  return hn::IfThenZeroElse(outside(low, high, code), out_grad);
}
HWY_INLINE FloatVec masked(const arith::Clamp& clamp, FloatVec out_grad, IntVec code) {
  return masked(hn::Set(Ints(), clamp.low), hn::Set(Ints(), clamp.high), out_grad, code);
}

/// Zeros gradients whose codes are outside of [low, high]. Most vectors have none and are not written.
HWY_INLINE void clear(IntVec low, IntVec high, IntVec code, float* grads) {
  const Floats d;
  const auto cut = outside(low, high, code);
  if (!hn::AllFalse(d, cut)) hn::BlendedStore(hn::Zero(d), cut, d, grads);
}

template <bool kUpper>
HWY_INLINE DoubleVec accumulator_terms(const GradientRow& row, const BackwardRule& rule, FloatVec out_grad, IntVec acc,
                                       IntVec code) {
  const Doubles d;
  const DoubleVec sum = half_of<kUpper>(acc);
  const DoubleVec factor =
      hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Set(d, row.factor * row.alpha), hn::Set(d, row.factor));
  return scale_terms<kUpper>(rule, out_grad, code, sum * factor);
}

/// `lanes` turns accumulators into codes.
template <class Lanes>
HWY_INLINE DoubleVec accumulator_lanes(const GradientRow& row, const BackwardRule& rule, const Lanes& lanes,
                                       const float* out_grads, const int32_t* accs, float* grads, bool stream) {
  const FloatVec out_grad = hn::LoadU(Floats(), out_grads);
  const IntVec acc = hn::LoadU(Ints(), accs);
  const IntVec code = lanes(acc);
  const auto negative = hn::RebindMask(Floats(), hn::Lt(acc, hn::Zero(Ints())));
  const FloatVec slope =
      hn::IfThenElse(negative, hn::Set(Floats(), static_cast<float>(row.alpha)), hn::Set(Floats(), 1.0F));
  put(masked(rule.clamp, out_grad * slope, code), Floats(), grads, stream);
  return accumulator_terms<false>(row, rule, out_grad, acc, code) +
         accumulator_terms<true>(row, rule, out_grad, acc, code);
}

HWY_INLINE DoubleVec code_lanes(const GradientRow& row, const BackwardRule& rule, const float* out_grads,
                                const int32_t* codes, const float* floats, float* grads, bool stream) {
  const FloatVec out_grad = hn::LoadU(Floats(), out_grads);
  const IntVec code = hn::LoadU(Ints(), codes);
  const FloatVec real = hn::LoadU(Floats(), floats);
  put(masked(rule.clamp, out_grad, code), Floats(), grads, stream);
  const DoubleVec factor = hn::Set(Doubles(), row.factor);
  return scale_terms<false>(rule, out_grad, code, half_of<false>(real) * factor) +
         scale_terms<true>(rule, out_grad, code, half_of<true>(real) * factor);
}

/// The sum of `at(out_grads, codes, floats, grads, stream)` over the vectors of a row. An out_grad of 0 fills up the
/// last vector.
template <class At>
HWY_INLINE double sum_row(const GradientRow& row, At&& at) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Ints()));
  const bool stream = may_stream(row.past_caches, row.grad), has_floats = row.real != nullptr;
  DoubleVec sum = hn::Zero(Doubles());
  int64_t i = 0;
  for (; i + lanes <= row.size; i += lanes)
    sum = sum + at(row.out_grad + i, row.codes + i, has_floats ? row.real + i : nullptr, row.grad + i, stream);
  if (i < row.size) {
    constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
    float out_grad[kMostLanes] = {}, real[kMostLanes] = {}, grad[kMostLanes];
    int32_t codes[kMostLanes] = {};
    std::copy(row.out_grad + i, row.out_grad + row.size, out_grad);
    std::copy(row.codes + i, row.codes + row.size, codes);
    if (has_floats) std::copy(row.real + i, row.real + row.size, real);
    sum = sum + at(out_grad, codes, real, grad, false);
    std::copy_n(grad, row.size - i, row.grad + i);
  }
  return hn::GetLane(hn::SumOfLanes(Doubles(), sum));
}

/// Writes the gradients of a row of accumulators. Returns the sum of the scale's terms.
double accumulator_row(const GradientRow& row, const BackwardRule& rule) {
  double sum = 0.0;
  with_lanes(*row.requantizer, rule.zero_point, [&](const auto& lanes) {
    sum = sum_row(row, [&](const float* out_grad, const int32_t* accs, const float*, float* grad, bool stream) {
      return accumulator_lanes(row, rule, lanes, out_grad, accs, grad, stream);
    });
  });
  return sum;
}

/// Like accumulator_row, for a row of codes and the float values before quantization.
double code_row(const GradientRow& row, const BackwardRule& rule) {
  return sum_row(row, [&](const float* out_grad, const int32_t* codes, const float* real, float* grad, bool stream) {
    return code_lanes(row, rule, out_grad, codes, real, grad, stream);
  });
}

/// out_grad, times alpha for a negative accumulator under leaky_relu.
HWY_INLINE FloatVec sloped(double alpha, FloatVec out_grad, IntVec acc) {
  if (alpha == 1.0) return out_grad;
  const Floats d;
  const auto negative = hn::RebindMask(d, hn::Lt(acc, hn::Zero(Ints())));
  return hn::IfThenElse(negative, out_grad * hn::Set(d, static_cast<float>(alpha)), out_grad);
}

/// Only the gradients of a row, for a fixed scale.
double masked_row(const GradientRow& row, const BackwardRule&) {
  const Floats d;
  const Ints ints;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto at = [&](FloatVec out_grad, IntVec code) {
    return masked(row.inside, sloped(row.alpha, out_grad, code), code);
  };
  int64_t i = 0;
  if (row.in_place()) {
    const IntVec low = hn::Set(ints, row.inside.low), high = hn::Set(ints, row.inside.high);
    for (; i + lanes <= row.size; i += lanes) clear(low, high, hn::LoadU(ints, row.codes + i), row.grad + i);
  }
  const bool stream = may_stream(row.past_caches, row.grad);
  for (; i + lanes <= row.size; i += lanes)
    put(at(hn::LoadU(d, row.out_grad + i), hn::LoadU(ints, row.codes + i)), d, row.grad + i, stream);
  const auto rest = hn::FirstN(d, static_cast<size_t>(row.size - i));
  const IntVec codes = hn::MaskedLoad(hn::RebindMask(ints, rest), ints, row.codes + i);
  hn::BlendedStore(at(hn::MaskedLoad(rest, d, row.out_grad + i), codes), rest, d, row.grad + i);
  return 0.0;
}

/// Like masked_row, for whole rows of `channels` accumulators. Their ranges are in `low` and `high`.
void masked_channels(const GradientRow& row, int64_t channels, const int32_t* low, const int32_t* high) {
  const Floats d;
  const Ints ints;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = channels / lanes * lanes;
  const auto some = hn::FirstN(d, static_cast<size_t>(channels - whole));
  const auto same = hn::RebindMask(ints, some);
  for (int64_t first = 0; first < row.size; first += channels) {
    const int32_t* accs = row.codes + first;
    const float* out_grads = row.out_grad + first;
    float* grads = row.grad + first;
    for (int64_t c = 0; c < whole; c += lanes) {
      const IntVec acc = hn::LoadU(ints, accs + c);
      if (row.in_place()) {
        clear(hn::LoadU(ints, low + c), hn::LoadU(ints, high + c), acc, grads + c);
        continue;
      }
      const FloatVec out_grad = sloped(row.alpha, hn::LoadU(d, out_grads + c), acc);
      hn::StoreU(masked(hn::LoadU(ints, low + c), hn::LoadU(ints, high + c), out_grad, acc), d, grads + c);
    }
    if (whole == channels) continue;
    const IntVec acc = hn::MaskedLoad(same, ints, accs + whole);
    const FloatVec out_grad = sloped(row.alpha, hn::MaskedLoad(some, d, out_grads + whole), acc);
    const IntVec least = hn::MaskedLoad(same, ints, low + whole), most = hn::MaskedLoad(same, ints, high + whole);
    hn::BlendedStore(masked(least, most, out_grad, acc), some, d, grads + whole);
  }
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

using GradientFunction = double (*)(const GradientRow& row, const BackwardRule& rule);

template <class Typed>
struct GradientState {
  GradientState(const Problem& problem, GradientFunction chosen)
      : rule(requantize_rule(Typed(problem.attributes))),
        gradient_scale(Typed(problem.attributes).gradient_scale),
        row(chosen) {}
  RequantizeRule rule;
  double gradient_scale;
  GradientFunction row;
};

/// Partial sums of the pieces. The last phase adds them in order.
double* partial_sums(const Call& call) { return reinterpret_cast<double*>(call.scratch); }
size_t partial_bytes(int64_t pieces) { return static_cast<size_t>(pieces) * sizeof(double); }

void store_scale_grad(const Call& call, int64_t pieces, double gradient_scale, float* scale_grad) {
  double sum = 0.0;
  for (int64_t piece = 0; gradient_scale != 0.0 && piece < pieces; ++piece) sum += partial_sums(call)[piece];
  *scale_grad = static_cast<float>(gradient_scale * sum);
}

/// Pieces of a tensor of accumulators. With channels last, blocks of rows are transposed for the row functions, and the
/// results are transposed back.
struct GradientPieces {
  static constexpr int64_t kTurned = int64_t{1} << 14;  ///< elements of a block. Three arrays of it fit the
                                                        ///< second-level cache

  explicit GradientPieces(std::span<const int64_t> acc) : channels(Channels::of(acc, 1)), size(count_elements(acc)) {
    if (channels.run == 1) turned_rows = std::clamp<int64_t>(kTurned / std::max<int64_t>(1, channels.count), 32, 512);
  }
  int64_t step() const { return turned_rows == 0 ? kPieceElements : turned_rows * channels.count; }
  int64_t count() const { return std::max<int64_t>(1, ceil_div(size, std::max<int64_t>(1, step()))); }
  size_t scratch() const { return static_cast<size_t>(3 * turned_rows * channels.count) * sizeof(float); }

  Channels channels;
  int64_t size;
  int64_t turned_rows = 0;  ///< rows of a piece, or 0 if runs need no transposition
};

using ChannelsFunction = void (*)(const GradientRow& row, int64_t channels, const int32_t* low, const int32_t* high);

struct LayerGradientState : GradientState<RequantizeGrad> {
  LayerGradientState(const Problem& problem, GradientFunction chosen, const GradientPieces& cut)
      : GradientState(problem, chosen),
        pieces(cut),
        rows(row_functions(problem.level)),
        masked(HS_SIMD_CHOOSE(problem.level, masked_channels)) {}
  GradientPieces pieces;
  const RowFunctions& rows;
  ChannelsFunction masked;
};

/// Requantizer and factor that phase 0 derives for a channel.
struct ChannelFactor {
  arith::Requantizer requantizer;
  double factor;
};

/// Factors and ranges of all channels. They are in scratch after the partial sums.
struct LayerNumbers {
  LayerNumbers(const Call& call, const GradientPieces& pieces)
      : factors(reinterpret_cast<ChannelFactor*>(call.scratch + partial_bytes(pieces.count()))),
        low(reinterpret_cast<int32_t*>(factors + pieces.channels.count)),
        high(low + pieces.channels.count) {}
  static size_t bytes(const GradientPieces& pieces) {
    const auto channels = static_cast<size_t>(pieces.channels.count);
    return partial_bytes(pieces.count()) + channels * (sizeof(ChannelFactor) + 2 * sizeof(int32_t));
  }

  ChannelFactor* factors;
  int32_t *low, *high;  ///< range of accumulators that are not clamped
};

/// Channels of a piece of phase 0.
constexpr int64_t kChannelsOfPiece = 32;

Plan prepare_requantize_grad(const Problem& problem) {
  const GradientPieces pieces(problem.in[RequantizeGrad::in::acc]->dims);
  const bool is_fixed = RequantizeGrad(problem.attributes).gradient_scale == 0.0;
  const auto row =
      is_fixed ? HS_SIMD_CHOOSE(problem.level, masked_row) : HS_SIMD_CHOOSE(problem.level, accumulator_row);
  return {.state = std::make_shared<LayerGradientState>(problem, row, pieces),
          .scratch = LayerNumbers::bytes(pieces),
          .worker_scratch = is_fixed ? 0 : pieces.scratch(),
          .phases = {std::max<int64_t>(1, ceil_div(pieces.channels.count, kChannelsOfPiece)), pieces.count(), 1},
          .in_place = InPlace::overwrite};
}

BackwardRule backward_rule(const Call& call, const RequantizeRule& rule) {
  using In = RequantizeGrad::in;
  return {rule, *call.in[In::y_scale].as<const float>(), *call.in[In::y_zero_point].as<const int32_t>()};
}

Status derive_channels(const Call& call, const RequantizeRule& rule, int64_t begin, int64_t end,
                       const LayerNumbers& numbers) {
  using In = RequantizeGrad::in;
  const ConstView& w_scale = call.in[In::w_scale];
  const float x_scale = *call.in[In::x_scale].as<const float>(), y_scale = *call.in[In::y_scale].as<const float>();
  for (int64_t c = begin; c < end; ++c) {
    const float scale = w_scale.as<const float>()[w_scale.size() == 1 ? 0 : c];
    ChannelFactor& factor = *std::construct_at(numbers.factors + c);
    factor.factor = arith::product_factor(rule.form, x_scale, scale, y_scale);
    Status status = rule.backward().for_layer({x_scale, scale, y_scale}, factor.requantizer);
    if (!status.ok()) return of_channel(status, c);
    const arith::Clamp inside = backward_rule(call, rule).accumulators(factor.requantizer);
    numbers.low[c] = inside.low;
    numbers.high[c] = inside.high;
  }
  return {};
}

struct LayerGradients {
  const float* out_grad;
  const int32_t* acc;
  float* acc_grad;
};

/// The row of `size` elements from `begin` on.
GradientRow row_of(const LayerGradientState& state, const LayerGradients& all, int64_t begin, int64_t size) {
  GradientRow row;
  row.size = size;
  row.out_grad = all.out_grad + begin;
  row.codes = all.acc + begin;
  row.grad = all.acc_grad + begin;
  if (state.rule.activation == arith::Activation::leaky_relu) row.alpha = state.rule.alpha;
  return row;
}

double channel_sum(const LayerGradientState& state, const BackwardRule& backward, const LayerNumbers& numbers,
                   int64_t channel, GradientRow& row) {
  row.inside = {numbers.low[channel], numbers.high[channel]};
  row.requantizer = &numbers.factors[channel].requantizer;
  row.factor = numbers.factors[channel].factor;
  return state.row(row, backward);
}

/// The sum of the scale's terms of elements [begin, end), in which channels are runs.
double run_sum(const LayerGradientState& state, const BackwardRule& backward, const LayerNumbers& numbers,
               const LayerGradients& all, int64_t begin, int64_t end) {
  double sum = 0.0;
  RunWalk walk(state.pieces.channels, begin, end);
  while (walk.next()) {
    GradientRow row = row_of(state, all, walk.begin(), walk.size());
    sum += channel_sum(state, backward, numbers, walk.channel(), row);
  }
  return sum;
}

/// Like run_sum, for whole rows of channels.
double turned_sum(const LayerGradientState& state, const BackwardRule& backward, const LayerNumbers& numbers,
                  const LayerGradients& all, int64_t begin, int64_t end, std::byte* scratch) {
  const int64_t channels = state.pieces.channels.count, rows = (end - begin) / channels;
  auto* out_grad = reinterpret_cast<float*>(scratch);
  float* grad = out_grad + rows * channels;
  auto* acc = reinterpret_cast<int32_t*>(grad + rows * channels);
  state.rows.transpose(all.out_grad + begin, rows, channels, out_grad);
  state.rows.transpose(all.acc + begin, rows, channels, acc);
  double sum = 0.0;
  for (int64_t c = 0; c < channels; ++c) {
    GradientRow row = row_of(state, {out_grad, acc, grad}, c * rows, rows);
    sum += channel_sum(state, backward, numbers, c, row);
  }
  state.rows.transpose(grad, channels, rows, all.acc_grad + begin);
  return sum;
}

Status run_requantize_grad(const Call& call, int phase, int64_t piece) {
  using In = RequantizeGrad::in;
  const auto& state = state_of<LayerGradientState>(call);
  const GradientPieces& pieces = state.pieces;
  const LayerNumbers numbers(call, pieces);
  if (phase == 0) {
    const int64_t first = piece * kChannelsOfPiece;
    return derive_channels(call, state.rule, first, std::min(first + kChannelsOfPiece, pieces.channels.count), numbers);
  }
  if (phase == 2) {
    store_scale_grad(call, pieces.count(), state.gradient_scale, call.out[RequantizeGrad::out::scale_grad].as<float>());
    return {};
  }
  const BackwardRule backward = backward_rule(call, state.rule);
  const LayerGradients all{call.in[In::out_grad].as<const float>(), call.in[In::acc].as<const int32_t>(),
                           call.out[RequantizeGrad::out::acc_grad].as<float>()};
  const int64_t begin = piece * pieces.step(), end = std::min(pieces.size, begin + pieces.step());
  if (pieces.turned_rows == 0) {
    partial_sums(call)[piece] = run_sum(state, backward, numbers, all, begin, end);
  } else if (state.gradient_scale == 0.0) {
    state.masked(row_of(state, all, begin, end - begin), pieces.channels.count, numbers.low, numbers.high);
  } else {
    partial_sums(call)[piece] = turned_sum(state, backward, numbers, all, begin, end, call.worker_scratch);
  }
  return {};
}

Plan prepare_clamp_grad(const Problem& problem) {
  const int64_t pieces = pieces_of(count_elements(problem.in[ClampGrad::in::out_grad]->dims));
  const bool is_fixed = ClampGrad(problem.attributes).gradient_scale == 0.0;
  const auto row = is_fixed ? HS_SIMD_CHOOSE(problem.level, masked_row) : HS_SIMD_CHOOSE(problem.level, code_row);
  return {.state = std::make_shared<GradientState<ClampGrad>>(problem, row),
          .scratch = partial_bytes(pieces),
          .phases = {pieces, 1},
          .in_place = InPlace::overwrite};
}

Status run_clamp_grad(const Call& call, int phase, int64_t piece) {
  using In = ClampGrad::in;
  const auto& state = state_of<GradientState<ClampGrad>>(call);
  const int64_t size = call.in[In::out_grad].size();
  if (phase == 1) {
    store_scale_grad(call, pieces_of(size), state.gradient_scale, call.out[ClampGrad::out::scale_grad].as<float>());
    return {};
  }
  const float y_scale = *call.in[In::y_scale].as<const float>();
  const BackwardRule backward(state.rule, y_scale, *call.in[In::y_zero_point].as<const int32_t>());
  const int64_t begin = piece * kPieceElements;
  GradientRow row;
  row.inside = backward.clamp;
  row.factor = 1.0 / static_cast<double>(y_scale);
  row.size = std::min(size - begin, kPieceElements);
  row.out_grad = call.in[In::out_grad].as<const float>() + begin;
  row.codes = call.in[In::unclamped].as<const int32_t>() + begin;
  row.real = call.in[In::real].as<const float>() + begin;
  row.grad = call.out[ClampGrad::out::value_grad].as<float>() + begin;
  row.past_caches = row.grad != row.out_grad && past_caches(size);
  partial_sums(call)[piece] = state.row(row, backward);
  if (row.past_caches) hwy::FlushStream();
  return {};
}

Verdict accept_sums(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  return accept_simd(problem);
}

}  // namespace
}  // namespace training

extern const Kernel cpu_requantize_grad_planes{"planes", training::accept_sums, training::prepare_requantize_grad,
                                               training::run_requantize_grad};
extern const Kernel cpu_clamp_grad_chunks{"chunks", training::accept_sums, training::prepare_clamp_grad,
                                          training::run_clamp_grad};

}  // namespace halfstep::kernels
#endif
