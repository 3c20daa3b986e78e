// Batch normalization. Sums over a channel are in double, in the order of memory. The variance needs a second pass over
// the data.
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/norm/channel.h"

namespace halfstep::kernels {
namespace {

struct NormState {
  Channels channels;
  BatchNorm attributes;
};

/// Calls visit(element) for the elements of a channel, in the order of memory.
template <class Visit>
void for_each(const Channels& channels, int64_t channel, Visit&& visit) {
  for (int64_t outer = 0; outer < channels.outer; ++outer) {
    const int64_t begin = (outer * channels.count + channel) * channels.run;
    for (int64_t i = begin; i < begin + channels.run; ++i) visit(i);
  }
}

template <class T>
ChannelStatistics<T> batch_statistics(const Call& call, const NormState& state, int64_t channel) {
  const T* x = call.in[BatchNorm::in::x].as<const T>();
  const int64_t count = state.channels.outer * state.channels.run;
  double sum = 0.0, squares = 0.0;
  for_each(state.channels, channel, [&](int64_t i) { sum += to_double(x[i]); });
  const double mean = count == 0 ? 0.0 : sum / static_cast<double>(count);
  for_each(state.channels, channel, [&](int64_t i) { squares += (to_double(x[i]) - mean) * (to_double(x[i]) - mean); });
  const double variance = count == 0 ? 0.0 : squares / static_cast<double>(count);
  return update_statistics<T>(call, state.attributes, channel, mean, variance, count);
}

Plan prepare_norm(const Problem& problem) {
  const Channels channels = Channels::of(problem.in[BatchNorm::in::x]->dims, 1);
  return {.state = std::make_shared<NormState>(channels, BatchNorm(problem.attributes)), .phases = {channels.count}};
}

Status run_norm(const Call& call, int, int64_t channel) {
  const auto& state = state_of<NormState>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* x = call.in[BatchNorm::in::x].as<const T>();
    const auto scale = widen(call.in[BatchNorm::in::scale].as<const T>()[channel]);
    const auto bias = widen(call.in[BatchNorm::in::bias].as<const T>()[channel]);
    const ChannelStatistics<T> s = state.attributes.is_test ? running_statistics<T>(call, state.attributes, channel)
                                                            : batch_statistics<T>(call, state, channel);
    T* dst = call.out[0].as<T>();
    for_each(state.channels, channel,
             [&](int64_t i) { dst[i] = narrow<T>((widen(x[i]) - s.mean) * (s.inverse_std * scale) + bias); });
  });
  return {};
}

struct GradState {
  Channels channels;
  BatchNormGrad attributes;
};

Plan prepare_grad(const Problem& problem) {
  const Channels channels = Channels::of(problem.in[BatchNormGrad::in::x]->dims, 1);
  return {.state = std::make_shared<GradState>(channels, BatchNormGrad(problem.attributes)),
          .phases = {channels.count}};
}

/// With xhat = (x - mean) * inverse_std: x_grad = scale * inverse_std * (g - mean(g) - xhat * mean(g * xhat)), in
/// double, rounded once. Constant statistics leave scale * inverse_std * g.
template <class T>
void differentiate_channel(const Call& call, const GradState& state, int64_t channel) {
  using In = BatchNormGrad::in;
  using Out = BatchNormGrad::out;
  const auto number = [&](int port) { return to_double(call.in[port].as<const T>()[channel]); };
  const bool of_batch = !state.attributes.is_test;
  const T *x = call.in[In::x].as<const T>(), *out_grad = call.in[In::out_grad].as<const T>();
  const double mean = number(In::batch_mean), scale = number(In::scale), spread = number(In::batch_inverse_std);
  const double inverse_std = of_batch ? spread : 1 / std::sqrt(spread + state.attributes.epsilon);
  const auto normal = [&](int64_t i) { return (to_double(x[i]) - mean) * inverse_std; };
  double sum = 0.0, product = 0.0;
  for_each(state.channels, channel, [&](int64_t i) { sum += to_double(out_grad[i]); });
  for_each(state.channels, channel, [&](int64_t i) { product += to_double(out_grad[i]) * normal(i); });
  call.out[Out::bias_grad].as<T>()[channel] = from_double<T>(sum);
  call.out[Out::scale_grad].as<T>()[channel] = from_double<T>(product);
  const auto count = static_cast<double>(state.channels.outer * state.channels.run);
  T* x_grad = call.out[Out::x_grad].as<T>();
  for_each(state.channels, channel, [&](int64_t i) {
    const double shared = of_batch ? sum / count + normal(i) * (product / count) : 0;
    x_grad[i] = from_double<T>(scale * inverse_std * (to_double(out_grad[i]) - shared));
  });
}

Status run_grad(const Call& call, int, int64_t channel) {
  const auto& state = state_of<GradState>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() { differentiate_channel<T>(call, state, channel); });
  return {};
}

}  // namespace

extern const Kernel reference_batch_norm{"reference", accept_all, prepare_norm, run_norm};
extern const Kernel reference_batch_norm_grad{"reference", accept_all, prepare_grad, run_grad};

}  // namespace halfstep::kernels
