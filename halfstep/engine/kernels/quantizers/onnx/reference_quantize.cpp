// Reference kernels of ONNX's quantizers (docs/arithmetic.md, section 9).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

namespace halfstep::kernels {
namespace onnx {
namespace {

struct QuantizeState {
  Spread spread;
  QuantizeRule rule;
};

Plan prepare_quantize(const Problem& problem) {
  using Op = OnnxQuantizeLinear;
  const Op attributes(problem.attributes);
  const Type& scale = *problem.in[Op::in::y_scale];
  const Spread spread = Spread::of(problem.in[Op::in::x]->dims, scale.dims, attributes.axis, attributes.block_size);
  const auto rule = QuantizeRule::of(scale.dtype, problem.out[Op::out::y]->dtype, attributes.saturate);
  return {.state = std::make_shared<QuantizeState>(spread, rule), .phases = {pieces_of(spread.size())}};
}

float element_of(const ConstView& x, int64_t index) {
  return x.dtype == DType::i32 ? static_cast<float>(x.as<const int32_t>()[index]) : scale_at(x, index);
}

Status run_quantize(const Call& call, int, int64_t piece) {
  using Op = OnnxQuantizeLinear;
  const auto& [spread, rule] = state_of<QuantizeState>(call);
  const ConstView& scale = call.in[Op::in::y_scale];
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, spread.size());
  with_code(call.out[Op::out::y].dtype, [&]<class Code>() {
    auto* dst = call.out[Op::out::y].as<Code>();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = spread.at(i);
      const float steps = steps_of(element_of(call.in[Op::in::x], i), scale_at(scale, at), rule.in_bfloat16);
      if (rule.small) {
        dst[i] = static_cast<Code>(small_code(steps, rule.codes));
        continue;
      }
      const int32_t zero_point = code_at(call.in[Op::in::y_zero_point], at);
      dst[i] = static_cast<Code>(rule.wraps ? wrapped_code(steps, zero_point, rule.range)
                                            : saturated_code(steps, zero_point, rule.range));
    }
  });
  return {};
}

Plan prepare_dequantize(const Problem& problem) {
  using Op = OnnxDequantizeLinear;
  const Op attributes(problem.attributes);
  const Spread spread = Spread::of(problem.in[Op::in::x]->dims, problem.in[Op::in::x_scale]->dims, attributes.axis,
                                   attributes.block_size);
  return {.state = std::make_shared<Spread>(spread), .phases = {pieces_of(spread.size())}};
}

Status run_dequantize(const Call& call, int, int64_t piece) {
  using Op = OnnxDequantizeLinear;
  const auto& spread = state_of<Spread>(call);
  const ConstView& x = call.in[Op::in::x];
  const int64_t begin = piece * kPieceElements, end = std::min(begin + kPieceElements, spread.size());
  with_any_float(call.out[Op::out::y].dtype, [&]<class T>() {
    auto* dst = call.out[Op::out::y].as<T>();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = spread.at(i);
      const float scale = scale_at(call.in[Op::in::x_scale], at);
      if (is_small_float(x.dtype)) {
        dst[i] = T(static_cast<float>(decode(x.as<const uint8_t>()[i], SmallFloat::of(x.dtype))) * scale);
      } else {
        dst[i] = T(real_of(code_at(x, i), code_at(call.in[Op::in::x_zero_point], at), scale));
      }
    }
  });
  return {};
}

Plan prepare_dynamic(const Problem&) { return {}; }

Status run_dynamic(const Call& call, int, int64_t) {
  using Op = DynamicQuantizeLinear;
  const ConstView& x = call.in[Op::in::x];
  const auto* src = x.as<const float>();
  float low = 0, high = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (src[i] < low) low = src[i];
    if (src[i] > high) high = src[i];
  }
  const auto parameters = DynamicParameters::of(low, high);
  for (int64_t i = 0; i < x.size(); ++i)
    call.out[Op::out::y].as<uint8_t>()[i] =
        static_cast<uint8_t>(saturated_code(src[i] / parameters.scale, parameters.zero_point, {0, 255}));
  *call.out[Op::out::y_scale].as<float>() = parameters.scale;
  *call.out[Op::out::y_zero_point].as<uint8_t>() = static_cast<uint8_t>(parameters.zero_point);
  return {};
}

}  // namespace
}  // namespace onnx

extern const Kernel reference_onnx_quantize_linear{"reference", accept_all, onnx::prepare_quantize, onnx::run_quantize};
extern const Kernel reference_onnx_dequantize_linear{"reference", accept_all, onnx::prepare_dequantize,
                                                     onnx::run_dequantize};
extern const Kernel reference_dynamic_quantize_linear{"reference", accept_all, onnx::prepare_dynamic,
                                                      onnx::run_dynamic};

}  // namespace halfstep::kernels
