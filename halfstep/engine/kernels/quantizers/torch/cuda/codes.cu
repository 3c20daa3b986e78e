// PyTorch's integer codes on CUDA.
#include <memory>

#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/quantizers/torch/code_channels.h"
#include "halfstep/engine/kernels/quantizers/torch/cuda/parameters.cuh"

namespace halfstep::kernels {
namespace torch {
namespace {

/// Parameters with the reciprocal of the scale, so that no element divides.
struct DerivedCodes : CodeParameters {
  float reciprocal = 1.0F;

  DerivedCodes() = default;
  HS_HOST_DEVICE explicit DerivedCodes(const CodeParameters& p) : CodeParameters(p), reciprocal(p.inverse()) {}
};

using CodeList = ParameterList<DerivedCodes, CodeParameterSource>;
using DerivedChannels = ChannelParameters<DerivedCodes, CodeParameterSource>;

template <CodeForm kForm, class T, class Code>
struct QuantizeElement {
  using Parameters = DerivedCodes;
  CodeList list;

  HS_HOST_DEVICE Parameters single() const { return list.single(); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return list.at(channel); }
  HS_HOST_DEVICE Code operator()(const Parameters& p, T x) const {
    const float value = cuda::widened(x);
    if constexpr (kForm == CodeForm::wrapping) {
      return wrapping_code<Code>(value, p.reciprocal, static_cast<int32_t>(p.zero_point));
    } else if constexpr (kForm == CodeForm::float_zero) {
      return fused_code<Code>(value, p.reciprocal, static_cast<float>(p.zero_point));
    } else {
      return saturating_code<Code>(value, p.reciprocal, p.zero_point);
    }
  }
};

template <CodeForm kForm, class Code>
struct DequantizeElement {
  using Parameters = DerivedCodes;
  CodeList list;

  HS_HOST_DEVICE Parameters single() const { return list.single(); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return list.at(channel); }
  HS_HOST_DEVICE float operator()(const Parameters& p, Code code) const {
    if constexpr (kForm == CodeForm::wrapping) {
      return real_of(code, static_cast<float>(p.scale), static_cast<int32_t>(p.zero_point));
    } else if constexpr (kForm == CodeForm::float_zero) {
      return single_real_of(code, static_cast<float>(p.scale), static_cast<float>(p.zero_point));
    } else {
      return wide_real_of(code, p.scale, p.zero_point);
    }
  }
};

/// Calls body.template operator()<kForm>().
template <class Body>
void with_form(CodeForm form, Body&& body) {
  switch (form) {
    case CodeForm::wrapping: return body.template operator()<CodeForm::wrapping>();
    case CodeForm::float_zero: return body.template operator()<CodeForm::float_zero>();
    case CodeForm::saturating: return body.template operator()<CodeForm::saturating>();
  }
}

/// Calls body.template operator()<T>() with the float type of x.
template <class Body>
void with_single(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f16: return body.template operator()<Half>();
    case DType::bf16: return body.template operator()<BFloat16>();
    default: return body.template operator()<float>();
  }
}

template <class Op>
Plan prepare(const Problem& problem) {
  auto codes = std::make_shared<CodeChannels>(CodeChannels::of<Op>(problem));
  const size_t scratch = DerivedChannels::scratch(codes->channels.count);
  return {.state = std::move(codes), .scratch = scratch};
}

Status run_quantize(const Call& call, int, int64_t) {
  const auto& codes = state_of<CodeChannels>(call);
  const DerivedChannels parameters(codes.parameters(call), codes.channels.count, call.scratch);
  with_form(codes.form, [&]<CodeForm kForm>() {
    with_single(codes.float_type, [&]<class T>() {
      with_code(codes.code_type, [&]<class Code>() {
        cuda::map(codes.channels.size(), cuda::Layout::of(codes.channels),
                  QuantizeElement<kForm, T, Code>{parameters.list()}, call.out[0].as<Code>(), call.in[0].as<const T>());
      });
    });
  });
  return parameters.check(codes);
}

Status run_dequantize(const Call& call, int, int64_t) {
  const auto& codes = state_of<CodeChannels>(call);
  const DerivedChannels parameters(codes.parameters(call), codes.channels.count, call.scratch);
  with_form(codes.form, [&]<CodeForm kForm>() {
    with_code(codes.code_type, [&]<class Code>() {
      cuda::map(codes.channels.size(), cuda::Layout::of(codes.channels),
                DequantizeElement<kForm, Code>{parameters.list()}, call.out[0].as<float>(),
                call.in[0].as<const Code>());
    });
  });
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cuda_quantize_per_tensor_elements{"elements", accept_all, torch::prepare<QuantizePerTensor>,
                                                      torch::run_quantize};
extern const Kernel cuda_quantize_per_channel_elements{"elements", accept_all, torch::prepare<QuantizePerChannel>,
                                                       torch::run_quantize};
extern const Kernel cuda_dequantize_per_tensor_elements{"elements", accept_all, torch::prepare<DequantizePerTensor>,
                                                        torch::run_dequantize};
extern const Kernel cuda_dequantize_per_channel_elements{"elements", accept_all, torch::prepare<DequantizePerChannel>,
                                                         torch::run_dequantize};

}  // namespace halfstep::kernels
