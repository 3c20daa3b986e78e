// Reference kernels of PyTorch's integer layers (docs/arithmetic.md, section 10).
#include <array>
#include <limits>
#include <memory>

#include "halfstep/core/arith/float_scale.h"
#include "halfstep/engine/kernels/image/conv/window.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/torch/rule.h"

namespace halfstep::kernels {
namespace {

/// The bias in steps of the sum. NaN becomes 0.
int64_t whole_bias(float steps) {
  constexpr float kLimit = 0x1p31F;
  return steps >= -kLimit && steps < kLimit ? static_cast<int64_t>(std::nearbyint(steps))
         : steps >= kLimit                  ? std::numeric_limits<int32_t>::max()
         : steps < 0                        ? std::numeric_limits<int32_t>::min()
                                            : 0;
}

/// The scale of an engine that keeps the bias in float.
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

/// PyTorch's attributes in the form that a window reads. Both ends of an axis have equal padding.
struct BothEnds {
  int64_t groups;
  std::vector<int64_t> stride, dilation, pad;

  explicit BothEnds(const TorchQuantizedConv2d& a) : groups(a.groups), stride(a.stride), dilation(a.dilation) {
    pad = {a.padding[0], a.padding[1], a.padding[0], a.padding[1]};
  }
};

struct ConvState {
  TorchQuantizedConv2d attributes;
  ConvWindow window;
};

Plan prepare_conv2d(const Problem& problem) {
  using In = TorchQuantizedConv2d::in;
  const TorchQuantizedConv2d a(problem.attributes);
  const auto g = ConvWindow::of(BothEnds(a), problem.in[In::x]->dims, problem.in[In::w]->dims, problem.out[0]->dims);
  return {.state = std::make_shared<ConvState>(a, g),
          .worker_scratch = static_cast<size_t>(g.out_plane()) * sizeof(int64_t),
          .phases = {g.n * g.o}};
}

/// Computes one plane of the output.
Status run_conv2d(const Call& call, int, int64_t piece) {
  using In = TorchQuantizedConv2d::in;
  const auto& [a, g] = state_of<ConvState>(call);
  const int64_t o = piece % g.o;
  auto* sums = reinterpret_cast<int64_t*>(call.worker_scratch);
  sum_windows(g, call.in[In::x].as<const uint8_t>(), call.in[In::w].as<const int8_t>(), piece / g.o, o, sums,
              a.x_zero_point);
  const auto layer = arith::EngineLayer::convolution(g.groups, g.group_in(), g.o);
  auto* dst = call.out[0].as<uint8_t>() + piece * g.out_plane();
  for (int64_t i = 0; i < g.out_plane(); ++i) dst[i] = code_of(a, call, layer, o, sums[i]);
  return {};
}

Plan prepare_linear(const Problem& problem) {
  return {.state = std::make_shared<TorchQuantizedLinear>(problem.attributes),
          .phases = {problem.out[TorchQuantizedLinear::out::out_]->dims[0]}};
}

/// Computes one row of the output.
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

extern const Kernel reference_torch_quantized_conv2d{"reference", accept_all, prepare_conv2d, run_conv2d};
extern const Kernel reference_torch_quantized_linear{"reference", accept_all, prepare_linear, run_linear};

}  // namespace halfstep::kernels
