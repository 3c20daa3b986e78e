// PyTorch's fake quantizers without observer on vectors, forward and backward.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/torch/cpu/fake_quantize.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/pieces.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::torch::HWY_NAMESPACE {

/// Parameters of `count` channels, as consecutive arrays.
template <class C>
std::array<const C*, kParameters> parameter_arrays(const void* parameters, int64_t count) {
  const auto* first = static_cast<const C*>(parameters);
  return {first, first + count, first + 2 * count};
}

template <class Rule, class T>
void forward(const elements::Walk& walk, const Grid& grid, const void* parameters, const void* src, const void*,
             void* dst, int64_t begin, int64_t end) {
  using C = Compute<T>;
  elements::HWY_NAMESPACE::apply<C, kParameters>(walk, Forward<Rule, hn::ScalableTag<C>>(grid),
                                                 parameter_arrays<C>(parameters, walk.channels.count), begin, end,
                                                 static_cast<T*>(dst), static_cast<const T*>(src));
}

template <class Rule, class T>
void backward(const elements::Walk& walk, const Grid& grid, const void* parameters, const void* src,
              const void* out_grad, void* dst, int64_t begin, int64_t end) {
  using C = Compute<T>;
  elements::HWY_NAMESPACE::apply<C, kParameters>(
      walk, Backward<Rule, hn::ScalableTag<C>>(grid), parameter_arrays<C>(parameters, walk.channels.count), begin, end,
      static_cast<T*>(dst), static_cast<const T*>(src), static_cast<const T*>(out_grad));
}

}  // namespace halfstep::kernels::torch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace torch {

PieceFunction forward_piece(RuleKind rule, DType dtype, CpuLevel level) {
  return with_rule(rule, [&]<class Rule>() -> PieceFunction {
    return with_any_float(dtype, [&]<class T>() -> PieceFunction { return HS_SIMD_CHOOSE(level, forward<Rule, T>); });
  });
}

PieceFunction backward_piece(RuleKind rule, DType dtype, CpuLevel level) {
  return with_rule(rule, [&]<class Rule>() -> PieceFunction {
    return with_any_float(dtype, [&]<class T>() -> PieceFunction { return HS_SIMD_CHOOSE(level, backward<Rule, T>); });
  });
}

namespace {

struct Elementwise {
  FakeQuantizer quantizer;
  elements::Walk walk;
  ChannelArrays arrays;
  PieceFunction piece = nullptr;
};

template <class Op>
Plan prepare(const Problem& problem) {
  auto state = std::make_shared<Elementwise>();
  state->quantizer = FakeQuantizer::of<Op>(problem);
  const FakeQuantizer& quantizer = state->quantizer;
  state->walk =
      elements::Walk(quantizer.channels, quantizer.channels.size() * static_cast<int64_t>(size_of(quantizer.dtype)));
  state->arrays = ChannelArrays(quantizer.channels.count, 3);
  state->piece =
      (quantizer.out_grad < 0 ? forward_piece : backward_piece)(quantizer.rule, quantizer.dtype, problem.level);
  Plan plan = state->arrays.plan(state->walk.pieces());
  plan.state = state;
  return plan;
}

Status derive(const FakeQuantizer& quantizer, const Call& call, std::byte* arrays) {
  if (Status status = quantizer.check(call); !status.ok()) return status;
  const int64_t count = quantizer.channels.count;
  const ParameterSource parameters = quantizer.parameters(call);
  for (int64_t c = 0; c < count; ++c) {
    const Parameters p = parameters.of(c);
    if (quantizer.dtype == DType::f64) {
      lay_out(p, c, count, reinterpret_cast<double*>(arrays));
    } else {
      lay_out(p, c, count, reinterpret_cast<float*>(arrays));
    }
  }
  return {};
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<Elementwise>(call);
  const FakeQuantizer& quantizer = state.quantizer;
  std::byte* arrays = state.arrays.memory(call);
  if (state.arrays.derives(phase)) {
    if (Status status = derive(quantizer, call, arrays); !status.ok()) return status;
  }
  if (!state.arrays.works(phase)) return {};
  const void* out_grad = quantizer.out_grad < 0 ? nullptr : call.in[quantizer.out_grad].data;
  state.piece(state.walk, quantizer.grid, arrays, call.in[quantizer.x].data, out_grad, call.out[0].data,
              state.walk.piece_begin(piece), state.walk.piece_end(piece));
  return {};
}

/// Copies out_grad, because nothing is quantized.
Status run_fused_grad(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<Elementwise>(call);
  if (!state.quantizer.copies) return run(call, phase, piece);
  if (!state.arrays.works(phase)) return {};
  const auto width = static_cast<int64_t>(size_of(state.quantizer.dtype));
  const int64_t begin = state.walk.piece_begin(piece) * width;
  const auto size = static_cast<size_t>(state.walk.piece_end(piece) * width - begin);
  if (size > 0)
    std::memcpy(call.out[0].as<std::byte>() + begin, call.in[state.quantizer.out_grad].as<const std::byte>() + begin,
                size);
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cpu_fake_quantize_per_tensor_affine_simd{"simd", accept_simd,
                                                             torch::prepare<FakeQuantizePerTensorAffine>, torch::run};
extern const Kernel cpu_fake_quantize_per_tensor_affine_grad_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizePerTensorAffineGrad>, torch::run};
extern const Kernel cpu_fake_quantize_per_tensor_affine_tensor_qparams_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizePerTensorAffineTensorQparams>, torch::run};
extern const Kernel cpu_fake_quantize_per_tensor_affine_tensor_qparams_grad_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizePerTensorAffineTensorQparamsGrad>, torch::run};
extern const Kernel cpu_fake_quantize_per_channel_affine_simd{"simd", accept_simd,
                                                              torch::prepare<FakeQuantizePerChannelAffine>, torch::run};
extern const Kernel cpu_fake_quantize_per_channel_affine_grad_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizePerChannelAffineGrad>, torch::run};
extern const Kernel cpu_fake_quantize_learnable_per_tensor_affine_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizeLearnablePerTensorAffine>, torch::run};
extern const Kernel cpu_fake_quantize_learnable_per_channel_affine_simd{
    "simd", accept_simd, torch::prepare<FakeQuantizeLearnablePerChannelAffine>, torch::run};
extern const Kernel cpu_fused_moving_avg_obs_fake_quant_grad_simd{
    "simd", accept_simd, torch::prepare<FusedMovingAvgObsFakeQuantGrad>, torch::run_fused_grad};

}  // namespace halfstep::kernels
#endif
