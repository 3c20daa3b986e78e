// Reference kernels of the gradients of PyTorch's learned quantizers (docs/arithmetic.md, section 10).
#include <memory>

#include "halfstep/engine/kernels/quantizers/torch/learnable.h"

namespace halfstep::kernels {
namespace torch {
namespace {

template <class Op>
void read(LearnableGrad& grad, const Problem& problem) {
  const Op attributes(problem.attributes);
  grad.grid = {static_cast<float>(attributes.quant_min), static_cast<float>(attributes.quant_max)};
  grad.factor = static_cast<float>(attributes.grad_factor);
  grad.dtype = problem.in[Op::in::x]->dtype;
}

}  // namespace

LearnableGrad::LearnableGrad(const Problem& problem) {
  per_tensor = !problem.attributes.contains("axis");
  int64_t axis = -1;
  if (per_tensor) {
    read<FakeQuantizeLearnablePerTensorAffineGrad>(*this, problem);
  } else {
    read<FakeQuantizeLearnablePerChannelAffineGrad>(*this, problem);
    axis = FakeQuantizeLearnablePerChannelAffineGrad(problem.attributes).axis;
  }
  channels = Channels::of(problem.in[In::x]->dims, axis);
  blocks = SumBlocks(channels);
}

}  // namespace torch

namespace {

using torch::LearnableGrad;
using In = LearnableGrad::In;
using Out = LearnableGrad::Out;

Plan prepare(const Problem& problem) { return {.state = std::make_shared<LearnableGrad>(problem)}; }

template <class T>
void run_channel(const LearnableGrad& grad, const Call& call, int64_t channel) {
  const T* src = call.in[In::x].as<const T>();
  const T* out_grad = call.in[In::out_grad].as<const T>();
  T* dst = call.out[Out::x_grad].as<T>();
  const torch::Parameters p = grad.parameters(call).of(channel);
  double scale_sum = 0.0;
  double zero_sum = 0.0;
  for (int64_t b = 0; b < grad.blocks.per_channel(); ++b) {
    SumLanes scale_lanes{};
    SumLanes zero_lanes{};
    grad.blocks.for_each_slice(channel, b, [&](int64_t begin, int64_t size) {
      for (int64_t i = 0; i < size; ++i) {
        const auto terms =
            torch::learnable_terms(static_cast<Compute<T>>(src[begin + i]),
                                   static_cast<Compute<T>>(out_grad[begin + i]), p, grad.grid, grad.factor);
        dst[begin + i] = T(terms.x);
        scale_lanes[i % kSumLanes] += terms.scale;
        zero_lanes[i % kSumLanes] += terms.zero_point;
      }
    });
    scale_sum += sum_of_lanes(scale_lanes);
    zero_sum += sum_of_lanes(zero_lanes);
  }
  call.out[Out::scale_grad].as<float>()[channel] = static_cast<float>(scale_sum);
  call.out[Out::zero_point_grad].as<float>()[channel] = static_cast<float>(zero_sum);
}

Status run(const Call& call, int, int64_t) {
  const auto& grad = state_of<LearnableGrad>(call);
  with_any_float(grad.dtype, [&]<class T>() {
    for (int64_t c = 0; c < grad.channels.count; ++c) run_channel<T>(grad, call, c);
  });
  return {};
}

}  // namespace

extern const Kernel reference_fake_quantize_learnable_per_tensor_affine_grad{"reference", accept_all, prepare, run};
extern const Kernel reference_fake_quantize_learnable_per_channel_affine_grad{"reference", accept_all, prepare, run};

}  // namespace halfstep::kernels
