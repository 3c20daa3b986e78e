// PyTorch's fake quantizers without observer on CUDA, backward: the masked gradient.
#include "halfstep/kernels/torch/cuda/fake_quantize.cuh"

namespace halfstep::kernels {
namespace torch {
namespace {

Status run(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  const Channels& channels = quantizer.channels;
  if (quantizer.copies) {
    cudaMemcpyAsync(call.out[0].data, call.in[quantizer.out_grad].data,
                    static_cast<size_t>(channels.size()) * size_of(quantizer.dtype), cudaMemcpyDeviceToDevice);
    return {};
  }
  const QuantizerParameters parameters(quantizer.parameters(call), channels.count, call.scratch);
  with_any_float(quantizer.dtype, [&]<class T>() {
    with_rule(quantizer.rule, [&]<class Rule>() {
      cuda::map(channels.size(), cuda::Layout::of(channels),
                BackwardElement<Rule, T>{parameters.list(), quantizer.grid}, call.out[0].as<T>(),
                call.in[quantizer.x].as<const T>(), call.in[quantizer.out_grad].as<const T>());
    });
  });
  return parameters.check(quantizer);
}

}  // namespace
}  // namespace torch

const Kernel cuda_fake_quantize_per_tensor_affine_grad_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineGrad>, torch::run};
const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_grad_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineTensorQparamsGrad>, torch::run};
const Kernel cuda_fake_quantize_per_channel_affine_grad_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerChannelAffineGrad>, torch::run};
const Kernel cuda_fused_moving_avg_obs_fake_quant_grad_elements = {
    "elements", accept_all, torch::prepare_quantizer<FusedMovingAvgObsFakeQuantGrad>, torch::run};

}  // namespace halfstep::kernels
