// Statistics of one channel, and what batch_norm makes of them: shared by the reference and the fast kernel.
#pragma once

#include <cmath>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// In what T is computed in.
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

/// What normalizes in inference: the running statistics.
template <class T = float>
ChannelStatistics<T> running_statistics(const Call& call, const BatchNorm& a, int64_t channel) {
  return {widen(call.in[BatchNorm::in::mean].as<const T>()[channel]),
          inverse_std<T>(to_double(call.in[BatchNorm::in::variance].as<const T>()[channel]), a.epsilon)};
}

/// From a batch's mean and biased variance over `count` elements: writes the outputs of the channel and gives what
/// normalizes. The running variance takes the unbiased one, count / (count - 1) times the biased; one element alone
/// counts as its own, and an empty batch leaves the running statistics as they are. Outputs may share memory with the
/// inputs that they are the next state of.
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
