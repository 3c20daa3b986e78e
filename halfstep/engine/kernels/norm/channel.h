// Statistics of one channel, and their use in batch_norm, for the reference and the fast kernel.
#pragma once

#include <cmath>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// Mean and inverse standard deviation, in the type in which T is computed.
template <class T = float>
struct ChannelStatistics {
  Compute<T> mean;
  Compute<T> inverse_std;
};

/// 1 / sqrt(variance + epsilon) in double, rounded once.
template <class T = float>
Compute<T> inverse_std(double variance, double epsilon) {
  return static_cast<Compute<T>>(1.0 / std::sqrt(variance + epsilon));
}

/// Statistics that normalize in inference: the running statistics.
template <class T = float>
ChannelStatistics<T> running_statistics(const Call& call, const BatchNorm& a, int64_t channel) {
  return {widen(call.in[BatchNorm::in::mean].as<const T>()[channel]),
          inverse_std<T>(to_double(call.in[BatchNorm::in::variance].as<const T>()[channel]), a.epsilon)};
}

/// Writes the channel's outputs from a batch's mean and biased variance over `count` elements. Returns the statistics
/// that normalize. The running variance takes the unbiased one, count / (count - 1) times the biased one. With a single
/// element, the biased one is used. An empty batch leaves the running statistics unchanged. An output may share memory
/// with the input whose next state it is.
template <class T = float>
ChannelStatistics<T> update_statistics(const Call& call, const BatchNorm& a, int64_t channel, double mean,
                                       double variance, int64_t count) {
  using In = BatchNorm::in;
  using Out = BatchNorm::out;
  const double unbiased =
      count > 1 ? variance * (static_cast<double>(count) / static_cast<double>(count - 1)) : variance;
  const auto next = [&](T old, double batch) {
    return count == 0 ? old : from_double<T>(a.momentum * to_double(old) + (1.0 - a.momentum) * batch);
  };
  const T old_mean = call.in[In::mean].as<const T>()[channel];
  const T old_variance = call.in[In::variance].as<const T>()[channel];
  call.out[Out::mean_out].as<T>()[channel] = next(old_mean, mean);
  call.out[Out::variance_out].as<T>()[channel] = next(old_variance, unbiased);
  const ChannelStatistics<T> statistics{static_cast<Compute<T>>(mean), inverse_std<T>(variance, a.epsilon)};
  call.out[Out::batch_mean].as<T>()[channel] = narrow<T>(statistics.mean);
  call.out[Out::batch_inverse_std].as<T>()[channel] = narrow<T>(statistics.inverse_std);
  return statistics;
}

}  // namespace halfstep::kernels
