// Reference kernels of PyTorch's fake quantizers (docs/arithmetic.md, section 10). reference_learnable.cpp has the
// gradients with sums, and reference_observers.cpp the observers.
#include <memory>

#include "halfstep/engine/kernels/quantizers/torch/fake_quantize.h"

namespace halfstep::kernels {
namespace {

using torch::FakeQuantizer;

template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<FakeQuantizer>(FakeQuantizer::of<Op>(problem))};
}

template <class Rule, class T>
void forward(const FakeQuantizer& quantizer, const Call& call) {
  const T* src = call.in[quantizer.x].as<const T>();
  T* dst = call.out[0].as<T>();
  const Channels& channels = quantizer.channels;
  const torch::ParameterSource parameters = quantizer.parameters(call);
  for (int64_t i = 0; i < channels.size(); ++i) {
    const torch::Parameters p = parameters.of(i / channels.run % channels.count);
    dst[i] = T(torch::fake_quantize<Rule>(static_cast<Compute<T>>(src[i]), p, quantizer.grid));
  }
}

Status run_forward(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  if (Status status = quantizer.check(call); !status.ok()) return status;
  with_any_float(quantizer.dtype, [&]<class T>() {
    torch::with_rule(quantizer.rule, [&]<class Rule>() { forward<Rule, T>(quantizer, call); });
  });
  return {};
}

template <class Rule, class T>
void backward(const FakeQuantizer& quantizer, const Call& call) {
  const T* src = call.in[quantizer.x].as<const T>();
  const T* out_grad = call.in[quantizer.out_grad].as<const T>();
  T* dst = call.out[0].as<T>();
  const Channels& channels = quantizer.channels;
  const torch::ParameterSource parameters = quantizer.parameters(call);
  for (int64_t i = 0; i < channels.size(); ++i) {
    const torch::Parameters p = parameters.of(i / channels.run % channels.count);
    const auto code = Rule::code(static_cast<Compute<T>>(src[i]), p);
    const bool inside = quantizer.copies || torch::is_inside(code, quantizer.grid);
    dst[i] = T(torch::masked(static_cast<Compute<T>>(out_grad[i]), inside));
  }
}

Status run_backward(const Call& call, int, int64_t) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  if (Status status = quantizer.check(call); !status.ok()) return status;
  with_any_float(quantizer.dtype, [&]<class T>() {
    torch::with_rule(quantizer.rule, [&]<class Rule>() { backward<Rule, T>(quantizer, call); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_fake_quantize_per_tensor_affine{"reference", accept_all,
                                                              prepare<FakeQuantizePerTensorAffine>, run_forward};
extern const Kernel reference_fake_quantize_per_tensor_affine_grad{
    "reference", accept_all, prepare<FakeQuantizePerTensorAffineGrad>, run_backward};
extern const Kernel reference_fake_quantize_per_tensor_affine_tensor_qparams{
    "reference", accept_all, prepare<FakeQuantizePerTensorAffineTensorQparams>, run_forward};
extern const Kernel reference_fake_quantize_per_tensor_affine_tensor_qparams_grad{
    "reference", accept_all, prepare<FakeQuantizePerTensorAffineTensorQparamsGrad>, run_backward};
extern const Kernel reference_fake_quantize_per_channel_affine{"reference", accept_all,
                                                               prepare<FakeQuantizePerChannelAffine>, run_forward};
extern const Kernel reference_fake_quantize_per_channel_affine_grad{
    "reference", accept_all, prepare<FakeQuantizePerChannelAffineGrad>, run_backward};
extern const Kernel reference_fake_quantize_learnable_per_tensor_affine{
    "reference", accept_all, prepare<FakeQuantizeLearnablePerTensorAffine>, run_forward};
extern const Kernel reference_fake_quantize_learnable_per_channel_affine{
    "reference", accept_all, prepare<FakeQuantizeLearnablePerChannelAffine>, run_forward};
extern const Kernel reference_fused_moving_avg_obs_fake_quant_grad{
    "reference", accept_all, prepare<FusedMovingAvgObsFakeQuantGrad>, run_backward};

}  // namespace halfstep::kernels
