// Reference kernels of PyTorch's min/max observers and of its fused observer and quantizer (docs/arithmetic.md, section
// 10).
#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/quantizers/torch/observer.h"

namespace halfstep::kernels {
namespace {

using torch::Extremes;
using torch::FusedObserver;
using torch::RangeObserver;

Extremes extremes_of(const torch::Watched& x, const ConstView& view, int64_t channel) {
  Extremes found;
  with_any_float(x.dtype, [&]<class T>() {
    for (int64_t b = 0; b < x.blocks.per_channel(); ++b)
      found = found.with(torch::extremes_of_block(view.as<const T>(), x.blocks, channel * x.blocks.per_channel() + b));
  });
  return found;
}

template <class Op>
Plan prepare_observer(const Problem& problem) {
  return {.state = std::make_shared<RangeObserver>(problem, Op(problem.attributes))};
}

Status run_observer(const Call& call, int, int64_t) {
  const auto& observer = state_of<RangeObserver>(call);
  const torch::RangeStep step = observer.step(call);
  for (int64_t c = 0; c < observer.x.channels.count; ++c)
    step(c, extremes_of(observer.x, call.in[RangeObserver::In::x], c));
  return {};
}

Plan prepare_fused(const Problem& problem) { return {.state = std::make_shared<FusedObserver>(problem)}; }

template <class Rule, class T>
void quantize_channel(const FusedObserver& fused, const Call& call, int64_t channel, const torch::Parameters& p) {
  const T* src = call.in[FusedObserver::In::x].as<const T>();
  T* dst = call.out[FusedObserver::Out::out_].as<T>();
  const Blocks& blocks = fused.x.blocks;
  for (int64_t b = channel * blocks.per_channel(); b < (channel + 1) * blocks.per_channel(); ++b) {
    blocks.for_each_slice(b, [&](int64_t begin, int64_t size, int64_t) {
      for (int64_t i = begin; i < begin + size; ++i)
        dst[i] =
            fused.quantizes ? T(torch::fake_quantize<Rule>(static_cast<Compute<T>>(src[i]), p, fused.grid)) : src[i];
    });
  }
}

Status run_fused(const Call& call, int, int64_t) {
  const auto& fused = state_of<FusedObserver>(call);
  const torch::FusedStep step = fused.step(call);
  for (int64_t c = 0; c < fused.x.channels.count; ++c) {
    Extremes batch;
    if (fused.observes) batch = extremes_of(fused.x, call.in[FusedObserver::In::x], c);
    const torch::Parameters p = step(c, batch);
    with_any_float(fused.x.dtype, [&]<class T>() {
      if (fused.per_row) {
        quantize_channel<torch::ChannelRule, T>(fused, call, c, p);
      } else {
        quantize_channel<torch::TensorRule, T>(fused, call, c, p);
      }
    });
  }
  return {};
}

}  // namespace

extern const Kernel reference_min_max_observer{"reference", accept_all, prepare_observer<MinMaxObserver>, run_observer};
extern const Kernel reference_moving_average_min_max_observer{
    "reference", accept_all, prepare_observer<MovingAverageMinMaxObserver>, run_observer};
extern const Kernel reference_per_channel_min_max_observer{"reference", accept_all,
                                                           prepare_observer<PerChannelMinMaxObserver>, run_observer};
extern const Kernel reference_moving_average_per_channel_min_max_observer{
    "reference", accept_all, prepare_observer<MovingAveragePerChannelMinMaxObserver>, run_observer};
extern const Kernel reference_fused_moving_avg_obs_fake_quant{"reference", accept_all, prepare_fused, run_fused};

}  // namespace halfstep::kernels
