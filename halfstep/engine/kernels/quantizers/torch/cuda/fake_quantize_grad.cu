// Backward pass of PyTorch's fake quantizers without observer on CUDA: the masked gradient.
#include "halfstep/engine/kernels/quantizers/torch/cuda/fake_quantize.cuh"

namespace halfstep::kernels {
namespace torch {
namespace {

Status run(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  if (!quantizer.copies) return run_elements<BackwardElement>(call);
  cudaMemcpyAsync(call.out[0].data, call.in[quantizer.out_grad].data,
                  static_cast<size_t>(quantizer.channels.size()) * size_of(quantizer.dtype), cudaMemcpyDeviceToDevice);
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cuda_fake_quantize_per_tensor_affine_grad_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineGrad>, torch::run};
extern const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_grad_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineTensorQparamsGrad>, torch::run};
extern const Kernel cuda_fake_quantize_per_channel_affine_grad_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerChannelAffineGrad>, torch::run};
extern const Kernel cuda_fused_moving_avg_obs_fake_quant_grad_elements{
    "elements", accept_all, torch::prepare_quantizer<FusedMovingAvgObsFakeQuantGrad>, torch::run};

}  // namespace halfstep::kernels
