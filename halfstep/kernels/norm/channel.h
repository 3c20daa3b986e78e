// Statistics of one channel, and what batch_norm makes of them: shared by the reference and the fast kernel.
#pragma once

#include <cmath>

#include "halfstep/kernels/float_types.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {

struct ChannelStatistics {
  float mean;
  float inverse_std;
};

/// 1 / sqrt(variance + epsilon) in double, rounded once.
inline float inverse_std(double variance, double epsilon) {
  return static_cast<float>(1.0 / std::sqrt(variance + epsilon));
}

/// What normalizes in inference: the running statistics.
inline ChannelStatistics running_statistics(const Call& call, const BatchNorm& a, int64_t channel) {
  return {call.in[BatchNorm::in::mean].as<const float>()[channel],
          inverse_std(double{call.in[BatchNorm::in::variance].as<const float>()[channel]}, a.epsilon)};
}

/// From a batch's mean and biased variance over `count` elements: writes the outputs of the channel and gives what
/// normalizes. The running variance takes the unbiased one, count / (count - 1) times the biased; one element alone
/// counts as its own, and an empty batch leaves the running statistics as they are. Outputs may share memory with the
/// inputs that they are the next state of.
inline ChannelStatistics update_statistics(const Call& call, const BatchNorm& a, int64_t channel, double mean,
                                           double variance, int64_t count) {
  using In = BatchNorm::in;
  using Out = BatchNorm::out;
  const double unbiased =
      count > 1 ? variance * (static_cast<double>(count) / static_cast<double>(count - 1)) : variance;
  const auto next = [&](float old, double batch) {
    return count == 0 ? old : static_cast<float>(a.momentum * double{old} + (1.0 - a.momentum) * batch);
  };
  const float old_mean = call.in[In::mean].as<const float>()[channel];
  const float old_variance = call.in[In::variance].as<const float>()[channel];
  call.out[Out::mean_out].as<float>()[channel] = next(old_mean, mean);
  call.out[Out::variance_out].as<float>()[channel] = next(old_variance, unbiased);
  const ChannelStatistics statistics{static_cast<float>(mean), inverse_std(variance, a.epsilon)};
  call.out[Out::batch_mean].as<float>()[channel] = statistics.mean;
  call.out[Out::batch_inverse_std].as<float>()[channel] = statistics.inverse_std;
  return statistics;
}

}  // namespace halfstep::kernels
