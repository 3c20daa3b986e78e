// PyTorch's integer layers as docs/arithmetic.md, section 10, states them.
#include <array>
#include <limits>
#include <memory>

#include "halfstep/arith/float_scale.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/torch/rule.h"

namespace halfstep::kernels {
namespace {

/// A bias in steps of the sum; NaN gives 0.
int64_t whole_bias(float steps) {
  constexpr float kLimit = 0x1p31F;
  return steps >= -kLimit && steps < kLimit ? static_cast<int64_t>(std::nearbyint(steps))
         : steps >= kLimit                  ? std::numeric_limits<int32_t>::max()
         : steps < 0                        ? std::numeric_limits<int32_t>::min()
                                            : 0;
}

/// The scale of an engine that keeps the bias real.
arith::FloatScale scale_of(const std::string& engine, const arith::LayerScales& scales) {
  if (engine == "onednn") return arith::onednn_layer(scales);
  return arith::float_layer(*arith::parse_requantization(engine), scales);
}

/// The code of a sum.
template <class Op>
uint8_t code_of(const Op& a, const Call& call, const arith::EngineLayer& layer, int64_t o, int64_t sum) {
  const ConstView& w_scale = call.in[Op::in::w_scale];
  const ConstView& bias = call.in[Op::in::b];
  const auto x_scale = static_cast<float>(a.x_scale), y_scale = static_cast<float>(a.y_scale);
  const float w = w_scale.as<const float>()[w_scale.size() == 1 ? 0 : o];
  const float b = bias.present() ? bias.as<const float>()[o] : 0.0F;
  const auto zero_point = static_cast<float>(a.y_zero_point);
  float code = 0.0F;
  if (a.engine == "qnnpack") {
    const float s = x_scale * w;
    const int64_t whole = bias.present() ? whole_bias(b / s) : 0;
    code = std::nearbyint(static_cast<float>(sum + whole) * (s / y_scale)) + zero_point;
  } else {
    const arith::FloatScale scale = scale_of(a.engine, {x_scale, w, y_scale, b, layer});
    const float steps = scale.steps(static_cast<int32_t>(sum));
    code = scale.zero_inside ? std::nearbyint(steps + zero_point) : std::nearbyint(steps) + zero_point;
  }
  return static_cast<uint8_t>(torch::clamp(code, {0.0F, 255.0F}));
}

/// sum (x - x_zero_point) * w for one output; padding adds nothing.
int64_t sum_of(const TorchQuantizedConv2d& a, const Call& call, int64_t n, int64_t o, int64_t oy, int64_t ox) {
  using In = TorchQuantizedConv2d::in;
  const auto x = call.in[In::x].dims;
  const auto w = call.in[In::w].dims;
  const auto* src = call.in[In::x].as<const uint8_t>();
  const auto* weights = call.in[In::w].as<const int8_t>();
  const int64_t first_channel = o / (w[0] / a.groups) * w[1];
  int64_t sum = 0;
  for (int64_t i = 0; i < w[1]; ++i) {
    for (int64_t ky = 0; ky < w[2]; ++ky) {
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        const int64_t iy = oy * a.stride[0] + ky * a.dilation[0] - a.padding[0];
        const int64_t ix = ox * a.stride[1] + kx * a.dilation[1] - a.padding[1];
        if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
        const int64_t code = src[((n * x[1] + first_channel + i) * x[2] + iy) * x[3] + ix];
        sum += (code - a.x_zero_point) * weights[((o * w[1] + i) * w[2] + ky) * w[3] + kx];
      }
    }
  }
  return sum;
}

Plan prepare_conv2d(const Problem& problem) {
  const Dims& out = problem.out[TorchQuantizedConv2d::out::out_]->dims;
  return {.state = std::make_shared<TorchQuantizedConv2d>(problem.attributes), .phases = {out[0] * out[1]}};
}

/// One plane of the output.
Status run_conv2d(const Call& call, int, int64_t piece) {
  const auto& a = state_of<TorchQuantizedConv2d>(call);
  const View& out = call.out[TorchQuantizedConv2d::out::out_];
  const int64_t n = piece / out.dims[1];
  const int64_t o = piece % out.dims[1];
  const auto layer =
      arith::EngineLayer::convolution(a.groups, call.in[TorchQuantizedConv2d::in::w].dims[1], out.dims[1]);
  auto* dst = out.as<uint8_t>() + piece * out.dims[2] * out.dims[3];
  for (int64_t oy = 0; oy < out.dims[2]; ++oy) {
    for (int64_t ox = 0; ox < out.dims[3]; ++ox) *dst++ = code_of(a, call, layer, o, sum_of(a, call, n, o, oy, ox));
  }
  return {};
}

Plan prepare_linear(const Problem& problem) {
  return {.state = std::make_shared<TorchQuantizedLinear>(problem.attributes),
          .phases = {problem.out[TorchQuantizedLinear::out::out_]->dims[0]}};
}

/// One row of the output.
Status run_linear(const Call& call, int, int64_t n) {
  using In = TorchQuantizedLinear::in;
  const auto& a = state_of<TorchQuantizedLinear>(call);
  const View& out = call.out[TorchQuantizedLinear::out::out_];
  const int64_t inputs = call.in[In::w].dims[1];
  const auto* src = call.in[In::x].as<const uint8_t>() + n * inputs;
  const auto* weights = call.in[In::w].as<const int8_t>();
  for (int64_t o = 0; o < out.dims[1]; ++o) {
    int64_t sum = 0;
    for (int64_t i = 0; i < inputs; ++i) sum += (int64_t{src[i]} - a.x_zero_point) * weights[o * inputs + i];
    out.as<uint8_t>()[n * out.dims[1] + o] = code_of(a, call, {}, o, sum);
  }
  return {};
}

}  // namespace

const Kernel reference_torch_quantized_conv2d = {"reference", accept_all, prepare_conv2d, run_conv2d};
const Kernel reference_torch_quantized_linear = {"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels
