// PyTorch's fake quantizers without observer on CUDA, forward.
#include "halfstep/kernels/torch/cuda/fake_quantize.cuh"

namespace halfstep::kernels {
namespace torch {
namespace {

Status run(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  const Channels& channels = quantizer.channels;
  const QuantizerParameters parameters(quantizer.parameters(call), channels.count, call.scratch);
  with_any_float(quantizer.dtype, [&]<class T>() {
    with_rule(quantizer.rule, [&]<class Rule>() {
      cuda::map(channels.size(), cuda::Layout::of(channels), ForwardElement<Rule, T>{parameters.list(), quantizer.grid},
                call.out[0].as<T>(), call.in[quantizer.x].as<const T>());
    });
  });
  return parameters.check(quantizer);
}

}  // namespace
}  // namespace torch

const Kernel cuda_fake_quantize_per_tensor_affine_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffine>, torch::run};
const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerTensorAffineTensorQparams>, torch::run};
const Kernel cuda_fake_quantize_per_channel_affine_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizePerChannelAffine>, torch::run};
const Kernel cuda_fake_quantize_learnable_per_tensor_affine_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizeLearnablePerTensorAffine>, torch::run};
const Kernel cuda_fake_quantize_learnable_per_channel_affine_elements = {
    "elements", accept_all, torch::prepare_quantizer<FakeQuantizeLearnablePerChannelAffine>, torch::run};

}  // namespace halfstep::kernels
