// Batch normalization by channel, with one pass for the statistics and one for the result.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/norm/channel.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/norm/cpu/channels.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#ifndef HALFSTEP_KERNELS_NORM_CHANNELS
#define HALFSTEP_KERNELS_NORM_CHANNELS
namespace halfstep::kernels::norm {

/// The runs of one channel.
struct Runs {
  int64_t count, stride, size;  ///< number of runs, elements from one run to the next, elements of a run
};

/// The two sums of one pass.
struct Sums {
  double first, second;
};

}  // namespace halfstep::kernels::norm
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::norm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Narrow = hn::Rebind<float, Wide>;
using Float = hn::ScalableTag<float>;
constexpr int64_t kLanes = hn::MaxLanes(Wide());
constexpr int64_t kVectors = kSumLanes / kLanes;

/// Adds terms over the runs in kSumLanes lanes of double. Lanes are added in order, then the remaining elements of the
/// runs. Every level has the same additions. `terms` returns two vectors or two doubles for the elements at an offset.
template <class Terms>
Sums add_runs(const Runs& runs, const Terms& terms) {
  const Wide d;
  hn::Vec<Wide> first[kVectors], second[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) first[v] = second[v] = hn::Zero(d);
  Sums rest{0.0, 0.0};
  const int64_t whole = runs.size / kSumLanes * kSumLanes;
  for (int64_t run = 0; run < runs.count; ++run) {
    const int64_t begin = run * runs.stride;
    for (int64_t i = begin; i < begin + whole; i += kSumLanes) {
      for (int64_t v = 0; v < kVectors; ++v) {
        const auto [a, b] = terms.vectors(d, i + v * kLanes);
        first[v] = hn::Add(first[v], a);
        second[v] = hn::Add(second[v], b);
      }
    }
    for (int64_t i = begin + whole; i < begin + runs.size; ++i) {
      const Sums term = terms.scalars(i);
      rest.first += term.first;
      rest.second += term.second;
    }
  }
  SumLanes lanes_first, lanes_second;
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(first[v], d, lanes_first.data() + v * kLanes);
    hn::StoreU(second[v], d, lanes_second.data() + v * kLanes);
  }
  return {sum_of_lanes(lanes_first) + rest.first, sum_of_lanes(lanes_second) + rest.second};
}

template <class Vector>
struct Pair {
  Vector a, b;
};

/// Terms x - shift and its square.
struct MomentTerms {
  const float* x;
  double shift;

  Pair<hn::Vec<Wide>> vectors(Wide d, int64_t i) const {
    const auto centred = hn::Sub(hn::PromoteTo(d, hn::LoadU(Narrow(), x + i)), hn::Set(d, shift));
    return {centred, hn::Mul(centred, centred)};
  }
  Sums scalars(int64_t i) const {
    const double centred = double{x[i]} - shift;
    return {centred, centred * centred};
  }
};

/// Terms g and g * (x - mean).
struct GradTerms {
  const float *x, *out_grad;
  double mean;

  Pair<hn::Vec<Wide>> vectors(Wide d, int64_t i) const {
    const auto centred = hn::Sub(hn::PromoteTo(d, hn::LoadU(Narrow(), x + i)), hn::Set(d, mean));
    const auto grad = hn::PromoteTo(d, hn::LoadU(Narrow(), out_grad + i));
    return {grad, hn::Mul(grad, centred)};
  }
  Sums scalars(int64_t i) const {
    const double grad = out_grad[i];
    return {grad, grad * (double{x[i]} - mean)};
  }
};

Sums moment_sums(const float* x, const Runs& runs, double shift) { return add_runs(runs, MomentTerms{x, shift}); }

Sums grad_sums(const float* x, const float* out_grad, const Runs& runs, double mean) {
  return add_runs(runs, GradTerms{x, out_grad, mean});
}

/// Writes (x - mean) * factor + bias.
void normalize(const float* x, float* dst, const Runs& runs, float mean, float factor, float bias) {
  const Float d;
  const int64_t lanes = hn::Lanes(d);
  const auto vmean = hn::Set(d, mean), vfactor = hn::Set(d, factor), vbias = hn::Set(d, bias);
  for (int64_t run = 0; run < runs.count; ++run, x += runs.stride, dst += runs.stride) {
    int64_t i = 0;
    for (; i + lanes <= runs.size; i += lanes)
      hn::StoreU(hn::Add(hn::Mul(hn::Sub(hn::LoadU(d, x + i), vmean), vfactor), vbias), d, dst + i);
    for (; i < runs.size; ++i) dst[i] = (x[i] - mean) * factor + bias;
  }
}

/// Writes ((g - grad_mean) - (x - mean) * slope) * factor.
void differentiate(const float* x, const float* out_grad, float* dst, const Runs& runs, float mean, float grad_mean,
                   float slope, float factor) {
  const Float d;
  const int64_t lanes = hn::Lanes(d);
  const auto vmean = hn::Set(d, mean), vgrad = hn::Set(d, grad_mean), vslope = hn::Set(d, slope),
             vfactor = hn::Set(d, factor);
  for (int64_t run = 0; run < runs.count; ++run, x += runs.stride, out_grad += runs.stride, dst += runs.stride) {
    int64_t i = 0;
    for (; i + lanes <= runs.size; i += lanes) {
      const auto along = hn::Mul(hn::Sub(hn::LoadU(d, x + i), vmean), vslope);
      hn::StoreU(hn::Mul(hn::Sub(hn::Sub(hn::LoadU(d, out_grad + i), vgrad), along), vfactor), d, dst + i);
    }
    for (; i < runs.size; ++i) dst[i] = ((out_grad[i] - grad_mean) - (x[i] - mean) * slope) * factor;
  }
}

}  // namespace halfstep::kernels::norm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace norm {
namespace {

struct NormState {
  Channels channels;
  BatchNorm attributes;
  int64_t per_piece;
  decltype(&N_AVX2::moment_sums) sums;
  decltype(&N_AVX2::normalize) normalize;
};

struct GradState {
  Channels channels;
  int64_t per_piece;
  decltype(&N_AVX2::grad_sums) sums;
  decltype(&N_AVX2::differentiate) differentiate;
};

/// Channels of a piece. Small channels share one.
int64_t channels_per_piece(const Channels& channels) {
  return std::max<int64_t>(1, kPieceElements / 4 / std::max<int64_t>(1, channels.outer * channels.run));
}

Runs runs_of(const Channels& channels) { return {channels.outer, channels.count * channels.run, channels.run}; }

Plan prepare(const Problem& problem) {
  const Channels channels = Channels::of(problem.in[BatchNorm::in::x]->dims, 1);
  const int64_t per_piece = channels_per_piece(channels);
  auto state =
      std::make_shared<NormState>(channels, BatchNorm(problem.attributes), per_piece,
                                  HS_SIMD_CHOOSE(problem.level, moment_sums), HS_SIMD_CHOOSE(problem.level, normalize));
  return {.state = std::move(state), .phases = {ceil_div(channels.count, per_piece)}};
}

/// Statistics from sums of x - x[0]. They lose no bits that double could keep: float32 has 24 of its 53 bits, and the
/// first element is about as far from the mean as any other.
ChannelStatistics<> batch_statistics(const Call& call, const NormState& state, int64_t channel) {
  const Channels& channels = state.channels;
  const int64_t count = channels.outer * channels.run;
  if (count == 0) return update_statistics(call, state.attributes, channel, 0.0, 0.0, 0);
  const float* x = call.in[BatchNorm::in::x].as<const float>() + channel * channels.run;
  const Sums sums = state.sums(x, runs_of(channels), double{*x});
  const double offset = sums.first / static_cast<double>(count);
  const double variance = std::max(0.0, sums.second / static_cast<double>(count) - offset * offset);
  return update_statistics(call, state.attributes, channel, double{*x} + offset, variance, count);
}

void normalize_channel(const Call& call, const NormState& state, int64_t channel) {
  const ChannelStatistics<> s = state.attributes.is_test ? running_statistics(call, state.attributes, channel)
                                                         : batch_statistics(call, state, channel);
  const float scale = call.in[BatchNorm::in::scale].as<const float>()[channel];
  const float bias = call.in[BatchNorm::in::bias].as<const float>()[channel];
  const int64_t begin = channel * state.channels.run;
  state.normalize(call.in[BatchNorm::in::x].as<const float>() + begin, call.out[0].as<float>() + begin,
                  runs_of(state.channels), s.mean, s.inverse_std * scale, bias);
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<NormState>(call);
  const int64_t end = std::min(state.channels.count, (piece + 1) * state.per_piece);
  for (int64_t channel = piece * state.per_piece; channel < end; ++channel) normalize_channel(call, state, channel);
  return {};
}

Plan prepare_grad(const Problem& problem) {
  const Channels channels = Channels::of(problem.in[BatchNormGrad::in::x]->dims, 1);
  const int64_t per_piece = channels_per_piece(channels);
  auto state = std::make_shared<GradState>(channels, per_piece, HS_SIMD_CHOOSE(problem.level, grad_sums),
                                           HS_SIMD_CHOOSE(problem.level, differentiate));
  return {.state = std::move(state), .phases = {ceil_div(channels.count, per_piece)}};
}

void differentiate_channel(const Call& call, const GradState& state, int64_t channel) {
  using In = BatchNormGrad::in;
  using Out = BatchNormGrad::out;
  const int64_t begin = channel * state.channels.run;
  const Runs runs = runs_of(state.channels);
  const float* x = call.in[In::x].as<const float>() + begin;
  const float* out_grad = call.in[In::out_grad].as<const float>() + begin;
  const float mean = call.in[In::batch_mean].as<const float>()[channel];
  const double inverse_std = call.in[In::batch_inverse_std].as<const float>()[channel];
  const double scale = call.in[In::scale].as<const float>()[channel];
  const Sums sums = state.sums(x, out_grad, runs, double{mean});
  call.out[Out::bias_grad].as<float>()[channel] = static_cast<float>(sums.first);
  call.out[Out::scale_grad].as<float>()[channel] = static_cast<float>(sums.second * inverse_std);
  const auto count = static_cast<double>(runs.count * runs.size);
  state.differentiate(
      x, out_grad, call.out[Out::x_grad].as<float>() + begin, runs, mean, static_cast<float>(sums.first / count),
      static_cast<float>(sums.second * inverse_std * inverse_std / count), static_cast<float>(scale * inverse_std));
}

Status run_grad(const Call& call, int, int64_t piece) {
  const auto& state = state_of<GradState>(call);
  const int64_t end = std::min(state.channels.count, (piece + 1) * state.per_piece);
  for (int64_t channel = piece * state.per_piece; channel < end; ++channel) differentiate_channel(call, state, channel);
  return {};
}

/// Only training sums elements, so that only it has its own order.
Verdict accept_norm(const Problem& problem) {
  if (!BatchNorm(problem.attributes).is_test) {
    if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  }
  const DType dtype = problem.in[0]->dtype;
  if (dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(dtype), "f32"));
  return accept_simd(problem);
}

Verdict accept_grad(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  const DType dtype = problem.in[0]->dtype;
  if (dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(dtype), "f32"));
  if (BatchNormGrad(problem.attributes).is_test)
    return refuse(errors::kernel_is_for_other_options("constant statistics", "statistics of the batch"));
  return accept_simd(problem);
}

}  // namespace
}  // namespace norm

extern const Kernel cpu_batch_norm_channels{"channels", norm::accept_norm, norm::prepare, norm::run};
extern const Kernel cpu_batch_norm_grad_channels{"channels", norm::accept_grad, norm::prepare_grad, norm::run_grad};

}  // namespace halfstep::kernels
#endif
