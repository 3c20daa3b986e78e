// PyTorch's fake quantizers without observer on CUDA, forward and backward.
#include "halfstep/kernels/torch/cuda/fake_quantize.cuh"

#include <memory>

namespace halfstep::kernels {
namespace torch {
namespace {

template <class Op>
Plan prepare(const Problem& problem) {
  auto quantizer = std::make_shared<FakeQuantizer>(FakeQuantizer::of<Op>(problem));
  const size_t scratch = QuantizerParameters::scratch(quantizer->channels.count);
  return {.state = std::move(quantizer), .scratch = scratch};
}

template <class Rule, class T>
void launch(const FakeQuantizer& quantizer, const Call& call, const QuantizerList& list) {
  const cuda::Layout layout = cuda::Layout::of(quantizer.channels);
  const int64_t size = quantizer.channels.size();
  const T* src = call.in[quantizer.x].as<const T>();
  T* dst = call.out[0].as<T>();
  if (quantizer.out_grad < 0) {
    cuda::map(size, layout, ForwardElement<Rule, T>{list, quantizer.grid}, dst, src);
  } else {
    cuda::map(size, layout, BackwardElement<Rule, T>{list, quantizer.grid}, dst, src,
              call.in[quantizer.out_grad].as<const T>());
  }
}

Status run(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  if (quantizer.copies) {
    cudaMemcpyAsync(call.out[0].data, call.in[quantizer.out_grad].data,
                    static_cast<size_t>(quantizer.channels.size()) * size_of(quantizer.dtype),
                    cudaMemcpyDeviceToDevice);
    return {};
  }
  const QuantizerParameters parameters(quantizer.parameters(call), quantizer.channels.count, call.scratch);
  with_any_float(quantizer.dtype, [&]<class T>() {
    with_rule(quantizer.rule, [&]<class Rule>() { launch<Rule, T>(quantizer, call, parameters.list()); });
  });
  return parameters.check(quantizer);
}

}  // namespace
}  // namespace torch

const Kernel cuda_fake_quantize_per_tensor_affine_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerTensorAffine>, torch::run};
const Kernel cuda_fake_quantize_per_tensor_affine_grad_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerTensorAffineGrad>, torch::run};
const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerTensorAffineTensorQparams>, torch::run};
const Kernel cuda_fake_quantize_per_tensor_affine_tensor_qparams_grad_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerTensorAffineTensorQparamsGrad>, torch::run};
const Kernel cuda_fake_quantize_per_channel_affine_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerChannelAffine>, torch::run};
const Kernel cuda_fake_quantize_per_channel_affine_grad_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizePerChannelAffineGrad>, torch::run};
const Kernel cuda_fake_quantize_learnable_per_tensor_affine_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizeLearnablePerTensorAffine>, torch::run};
const Kernel cuda_fake_quantize_learnable_per_channel_affine_elements = {
    "elements", accept_all, torch::prepare<FakeQuantizeLearnablePerChannelAffine>, torch::run};
const Kernel cuda_fused_moving_avg_obs_fake_quant_grad_elements = {
    "elements", accept_all, torch::prepare<FusedMovingAvgObsFakeQuantGrad>, torch::run};

}  // namespace halfstep::kernels
