// PyTorch's min/max observers and its fused observer and quantizer on CUDA. One read finds the extremes, a step updates
// each channel's state, and one read and one write quantize.
#include <memory>

#include "halfstep/engine/kernels/common/cuda/extremes.cuh"
#include "halfstep/engine/kernels/quantizers/torch/cuda/fake_quantize.cuh"
#include "halfstep/engine/kernels/quantizers/torch/observer.h"

namespace halfstep::kernels {
namespace torch {
namespace {

/// NaN stays NaN.
struct FoldExtremes {
  Extremes found;
  __device__ void take(float x) { found = found.with({x, x}); }
  __device__ cuda::Keys keys() const {
    if (!found.seen()) return {};
    return {cuda::key_of(-found.low), cuda::key_of(found.high)};
  }
};

HS_HOST_DEVICE Extremes extremes_of(const cuda::Keys& keys) {
  return keys.seen() ? Extremes{keys.lowest(), keys.highest()} : Extremes();
}

void find(const Watched& x, const void* src, cuda::Keys* keys) {
  with_any_float(x.dtype,
                 [&]<class T>() { cuda::find_keys<FoldExtremes>(static_cast<const T*>(src), x.channels, keys); });
}

struct Observe {
  RangeStep step;
  const cuda::Keys* keys;
  __device__ void operator()(int64_t channel) const { step(channel, extremes_of(keys[channel])); }
};

template <class Op>
Plan prepare_observer(const Problem& problem) {
  auto observer = std::make_shared<RangeObserver>(problem, Op(problem.attributes));
  const size_t scratch = static_cast<size_t>(observer->x.channels.count) * sizeof(cuda::Keys);
  return {.state = std::move(observer), .scratch = scratch};
}

Status run_observer(const Call& call, int, int64_t) {
  const auto& observer = state_of<RangeObserver>(call);
  auto* keys = reinterpret_cast<cuda::Keys*>(call.scratch);
  find(observer.x, call.in[RangeObserver::In::x].data, keys);
  cuda::for_each_channel(observer.x.channels.count, Observe{observer.step(call), keys});
  return {};
}

/// Layout: the keys of all channels, then their parameters.
struct FusedScratch {
  FusedScratch(const FusedObserver& fused, std::byte* scratch)
      : keys(reinterpret_cast<cuda::Keys*>(scratch)),
        parameters(reinterpret_cast<Parameters*>(keys + fused.x.channels.count)) {}
  static size_t bytes(int64_t count) { return static_cast<size_t>(count) * (sizeof(cuda::Keys) + sizeof(Parameters)); }

  cuda::Keys* keys;
  Parameters* parameters;
};

struct ObserveFused {
  FusedStep step;
  const cuda::Keys* keys;
  Parameters* parameters;
  __device__ void operator()(int64_t channel) const {
    parameters[channel] = step(channel, step.observes ? extremes_of(keys[channel]) : Extremes());
  }
};

Plan prepare_fused(const Problem& problem) {
  auto fused = std::make_shared<FusedObserver>(problem);
  const size_t scratch = FusedScratch::bytes(fused->x.channels.count);
  return {.state = std::move(fused), .scratch = scratch};
}

template <class T>
void quantize(const FusedObserver& fused, const Call& call, const QuantizerList& list) {
  const Channels& channels = fused.x.channels;
  const T* src = call.in[FusedObserver::In::x].as<const T>();
  T* dst = call.out[FusedObserver::Out::out_].as<T>();
  if (fused.per_row) {
    cuda::map(channels.size(), cuda::Layout::of(channels), ForwardElement<ChannelRule, T>{{list, fused.grid}}, dst,
              src);
  } else {
    cuda::map(channels.size(), cuda::Layout::of(channels), ForwardElement<TensorRule, T>{{list, fused.grid}}, dst, src);
  }
}

Status run_fused(const Call& call, int, int64_t) {
  const auto& fused = state_of<FusedObserver>(call);
  const FusedScratch scratch(fused, call.scratch);
  const ConstView& x = call.in[FusedObserver::In::x];
  if (fused.observes) find(fused.x, x.data, scratch.keys);
  cuda::for_each_channel(fused.x.channels.count, ObserveFused{fused.step(call), scratch.keys, scratch.parameters});
  if (fused.quantizes) {
    with_any_float(fused.x.dtype, [&]<class T>() {
      quantize<T>(fused, call, {ParameterSource(), scratch.parameters});
    });
  } else {
    cudaMemcpyAsync(call.out[FusedObserver::Out::out_].data, x.data,
                    static_cast<size_t>(fused.x.channels.size()) * size_of(fused.x.dtype), cudaMemcpyDeviceToDevice);
  }
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cuda_min_max_observer_extremes{"extremes", accept_all, torch::prepare_observer<MinMaxObserver>,
                                                   torch::run_observer};
extern const Kernel cuda_moving_average_min_max_observer_extremes{
    "extremes", accept_all, torch::prepare_observer<MovingAverageMinMaxObserver>, torch::run_observer};
extern const Kernel cuda_per_channel_min_max_observer_extremes{
    "extremes", accept_all, torch::prepare_observer<PerChannelMinMaxObserver>, torch::run_observer};
extern const Kernel cuda_moving_average_per_channel_min_max_observer_extremes{
    "extremes", accept_all, torch::prepare_observer<MovingAveragePerChannelMinMaxObserver>, torch::run_observer};
extern const Kernel cuda_fused_moving_avg_obs_fake_quant_extremes{"extremes", accept_all, torch::prepare_fused,
                                                                  torch::run_fused};

}  // namespace halfstep::kernels
