// Forward pass of PyTorch's fake quantizers without observer on CUDA.
#include "halfstep/engine/kernels/quantizers/torch/cuda/fake_quantize.cuh"

namespace halfstep::kernels {
namespace torch {
namespace {

Status run(const Call& call, int, int64_t) { return run_elements<ForwardElement>(call); }

}  // namespace
}  // namespace torch

extern const Kernel cuda_fake_quantize_per_tensor_affine_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffine>, torch::run};
extern const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineTensorQparams>, torch::run};
extern const Kernel cuda_fake_quantize_per_channel_affine_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerChannelAffine>, torch::run};
extern const Kernel cuda_fake_quantize_learnable_per_tensor_affine_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizeLearnablePerTensorAffine>, torch::run};
extern const Kernel cuda_fake_quantize_learnable_per_channel_affine_elements{
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizeLearnablePerChannelAffine>, torch::run};

}  // namespace halfstep::kernels
