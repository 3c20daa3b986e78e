#include "halfstep/verify/board/rerun.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep::board {
namespace {

/// The operand minus a zero point, as f64.
Tensor floats_of(const Tensor& codes, int64_t zero_point) {
  Tensor floats(DType::f64, codes.dims());
  const auto to = floats.data<double>();
  for (int64_t i = 0; i < codes.size(); ++i)
    to[static_cast<size_t>(i)] = element(codes, i) - static_cast<double>(zero_point);
  return floats;
}

/// The float operator that computes the layer's sums.
Rerun product_of(const Rerun& layer, const OpInfo& info) {
  Rerun product{&info, {}, std::vector<Tensor>(info.inputs.size())};
  for (const AttributeInfo& attribute : info.attributes) {
    const auto own = layer.attributes.find(attribute.name);
    product.attributes[attribute.name] = own == layer.attributes.end() ? attribute.default_value : own->second;
  }
  *product.operand("x") = floats_of(*layer.operand("x"), layer.whole("x_zero_point"));
  *product.operand("w") = floats_of(*layer.operand("w"), 0);
  return product;
}

double number(const Tensor* tensor, size_t channel, double otherwise) {
  if (tensor == nullptr) return otherwise;
  return element(*tensor, tensor->size() == 1 ? 0 : static_cast<int64_t>(channel));
}

arith::Requantization form_of(const Rerun& layer) {
  return *arith::parse_requantization(get<std::string>(layer.attributes, "requantize"));
}

arith::FloatScale float_scale(const Rerun& layer, size_t channel) {
  const auto scale = [&](const char* name) { return static_cast<float>(get<double>(layer.attributes, name)); };
  arith::LayerScales scales{scale("x_scale"), static_cast<float>(number(layer.operand("w_scale"), channel, 1)),
                            scale("y_scale")};
  if (arith::traits(form_of(layer)).is_engine) scales.bias = static_cast<float>(number(layer.operand("b"), channel, 0));
  if (layer.has("groups")) {
    const Dims& w = layer.operand("w")->dims();
    scales.layer = arith::EngineLayer::convolution(layer.whole("groups"), w[1], w[0]);
  }
  return arith::float_layer(form_of(layer), scales);
}

arith::FixedScale fixed_scale(const Rerun& layer, size_t channel) {
  constexpr double kOne = 1073741824;  // factor of a form without multipliers: 2^30, with the shift increased by 30
  const bool alone = layer.operand("multiplier") == nullptr;
  const auto of = [&](const char* multiplier, const char* shift, arith::Multiplier otherwise) -> arith::Multiplier {
    if (layer.operand(shift) == nullptr) return otherwise;
    const auto drop = static_cast<int32_t>(number(layer.operand(shift), channel, 0));
    return {static_cast<int32_t>(number(layer.operand(multiplier), channel, kOne)), drop + (alone ? 30 : 0)};
  };
  const arith::Multiplier positive = of("multiplier", "shift", {});
  return {positive, of("negative_multiplier", "negative_shift", positive),
          *arith::parse_shift_rounding(get<std::string>(layer.attributes, "shift_rounding"))};
}

}  // namespace

Tensor Rerun::run(ThreadPool& pool) const {
  Model model;
  std::vector<Value> values;
  Tensors fed;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined()) {
      values.emplace_back();
      continue;
    }
    const std::string name = "in" + std::to_string(i);
    values.push_back(model.graph.add_argument(name, operands[i].type()));
    fed[name] = operands[i];
  }
  const Op op = model.graph.insert({info, values, attributes, "y", {}});
  model.graph.set_outputs({op.out(0)}, {"y"});
  CompileOptions options;
  options.optimize = false;
  return compile(model, options).run(fed, pool).at("y");
}

Tensor* Rerun::operand(std::string_view port) {
  const int at = info->input(port);
  if (at < 0 || static_cast<size_t>(at) >= operands.size()) return nullptr;
  return &operands[static_cast<size_t>(at)];
}

const Tensor* Rerun::operand(std::string_view port) const {
  const int at = info->input(port);
  if (at < 0 || static_cast<size_t>(at) >= operands.size() || !operands[static_cast<size_t>(at)].defined())
    return nullptr;
  return &operands[static_cast<size_t>(at)];
}

double Sums::steps(size_t i) const {
  const size_t c = channel(i);
  if (arith::traits(form_of(layer)).keeps_scales)
    return static_cast<double>(float_scale(layer, c).steps(static_cast<int64_t>(accumulator(i))));
  const arith::FixedScale scale = fixed_scale(layer, c);
  const arith::Multiplier& factor = accumulator(i) < 0 ? scale.negative : scale.positive;
  return std::ldexp(accumulator(i) * static_cast<double>(factor.m), -factor.shift);
}

int64_t Sums::code(size_t i, int64_t accumulator) const {
  const auto zero_point = static_cast<int32_t>(layer.whole("y_zero_point"));
  const size_t c = channel(i);
  const int64_t code = arith::traits(form_of(layer)).keeps_scales ? float_scale(layer, c).code(accumulator, zero_point)
                                                                  : fixed_scale(layer, c).code(accumulator, zero_point);
  return std::clamp(code, layer.whole("code_min"), layer.whole("code_max"));
}

std::optional<Sums> sums_of(const Rerun& layer, ThreadPool& pool) {
  const OpInfo* info = layer.info == &ops::IntegerConv2d::record()   ? &ops::Conv2d::record()
                       : layer.info == &ops::IntegerLinear::record() ? &ops::Linear::record()
                                                                     : nullptr;
  if (info == nullptr) return std::nullopt;
  const Tensor result = product_of(layer, *info).run(pool);
  Sums sums{.sums = {result.data<double>().begin(), result.data<double>().end()}, .bias = {}, .layer = layer};
  sums.channels = result.dims()[1];
  sums.run = count_elements(std::span(result.dims()).subspan(2));
  const bool adds = !arith::traits(form_of(layer)).is_engine;  // engines add the bias after scaling
  for (int64_t c = 0; c < sums.channels; ++c)
    sums.bias.push_back(adds ? number(layer.operand("b"), static_cast<size_t>(c), 0) : 0);
  return sums;
}

}  // namespace halfstep::board
