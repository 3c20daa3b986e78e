// Reference kernels of PyTorch's integer codes (docs/arithmetic.md, section 10).
#include <fmt/format.h>

#include <memory>

#include "halfstep/engine/kernels/quantizers/torch/code_channels.h"

namespace halfstep::kernels {
namespace {

using torch::CodeChannels;

template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<CodeChannels>(CodeChannels::of<Op>(problem))};
}

template <class T, class Code>
void quantize(const CodeChannels& codes, const Call& call) {
  const T* src = call.in[0].as<const T>();
  Code* dst = call.out[0].as<Code>();
  const Channels& channels = codes.channels;
  const torch::CodeParameterSource parameters = codes.parameters(call);
  for (int64_t i = 0; i < channels.size(); ++i) {
    const torch::CodeParameters p = parameters.of(i / channels.run % channels.count);
    const auto x = static_cast<float>(src[i]);
    if (codes.form == torch::CodeForm::wrapping) {
      dst[i] = torch::wrapping_code<Code>(x, p.inverse(), static_cast<int32_t>(p.zero_point));
    } else if (codes.form == torch::CodeForm::float_zero) {
      dst[i] = torch::fused_code<Code>(x, p.inverse(), static_cast<float>(p.zero_point));
    } else {
      dst[i] = torch::saturating_code<Code>(x, p.inverse(), p.zero_point);
    }
  }
}

Status run_quantize(const Call& call, int, int64_t) {
  const auto& codes = state_of<CodeChannels>(call);
  if (Status status = codes.check(call); !status.ok()) return status;
  with_any_float(codes.float_type, [&]<class T>() {
    torch::with_code(codes.code_type, [&]<class Code>() { quantize<T, Code>(codes, call); });
  });
  return {};
}

template <class Code>
void dequantize(const CodeChannels& codes, const Call& call) {
  const Code* src = call.in[0].as<const Code>();
  auto* dst = call.out[0].as<float>();
  const Channels& channels = codes.channels;
  const torch::CodeParameterSource parameters = codes.parameters(call);
  for (int64_t i = 0; i < channels.size(); ++i) {
    const torch::CodeParameters p = parameters.of(i / channels.run % channels.count);
    if (codes.form == torch::CodeForm::wrapping) {
      dst[i] = torch::real_of(src[i], static_cast<float>(p.scale), static_cast<int32_t>(p.zero_point));
    } else if (codes.form == torch::CodeForm::float_zero) {
      dst[i] = torch::single_real_of(src[i], static_cast<float>(p.scale), static_cast<float>(p.zero_point));
    } else {
      dst[i] = torch::wide_real_of(src[i], p.scale, p.zero_point);
    }
  }
}

Status run_dequantize(const Call& call, int, int64_t) {
  const auto& codes = state_of<CodeChannels>(call);
  torch::with_code(codes.code_type, [&]<class Code>() { dequantize<Code>(codes, call); });
  return {};
}

}  // namespace

extern const Kernel reference_quantize_per_tensor{"reference", accept_all, prepare<QuantizePerTensor>, run_quantize};
extern const Kernel reference_quantize_per_channel{"reference", accept_all, prepare<QuantizePerChannel>, run_quantize};
extern const Kernel reference_dequantize_per_tensor{"reference", accept_all, prepare<DequantizePerTensor>,
                                                    run_dequantize};
extern const Kernel reference_dequantize_per_channel{"reference", accept_all, prepare<DequantizePerChannel>,
                                                     run_dequantize};

}  // namespace halfstep::kernels
