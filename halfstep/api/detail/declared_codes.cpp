#include "halfstep/api/detail/declared_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halfstep/api/errors.h"
#include "halfstep/core/arith/code.h"
#include "halfstep/core/arith/multiplier.h"
#include "halfstep/core/base/channel_elements.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/own_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::api {
namespace {

using ops::FakeQuantize;

/// One quantizer of an own kind, and the network that computes it.
class Declared {
 public:
  Declared(const Model& model, const LearnedQuantizer& one, const FakeQuantize& quantizer)
      : model_(model), one_(one), quantizer_(quantizer), pool_(1), runner_(network_of(one, quantizer), {}, pool_) {}

  /// The values of the network's outputs for the given ones of the quantized tensor.
  Tensors run(const Tensor& x) {
    Tensors inputs;
    for (const auto& [argument, tensor] : one_.tensors) inputs.emplace(argument, model_.tensors.at(tensor));
    inputs.insert_or_assign(passes::kOwnInput, x);
    return runner_.run(inputs);
  }

  /// A tensor of the quantized type, with these elements repeated in order.
  Tensor filled(std::span<const float> elements) const {
    Dims dims = quantizer_.x().dims();
    std::ranges::replace(dims, kUnknown, int64_t{1});
    Tensor tensor(DType::f32, std::move(dims));
    size_t i = 0;
    for (float& element : tensor.data<float>()) element = elements[i++ % elements.size()];
    return tensor;
  }

  /// Throws unless the network computes the values of the declared codes.
  void check() {
    if (quantizer_.x().is_tensor()) return compare(model_.tensors.at(quantizer_.x().name()));
    const std::vector<float> values = values_around_codes();
    const auto size = static_cast<size_t>(filled(values).size());
    for (size_t begin = 0; size > 0 && begin < values.size(); begin += size)
      compare(filled(std::span(values).subspan(begin, std::min(size, values.size() - begin))));
  }

 private:
  static Model network_of(const LearnedQuantizer& one, const FakeQuantize& quantizer) {
    Model network;
    network.graph = parse(one.networks.at(quantizer.name()), one.name);
    return network;
  }

  arith::CodeRule rule() const {
    return {static_cast<int32_t>(quantizer_.code_min()), static_cast<int32_t>(quantizer_.code_max()),
            quantizer_.method() == "reciprocal", *arith::parse_rounding(quantizer_.rounding())};
  }

  /// The value of every code, and the neighbors of every middle between two codes. Values outside of the range too.
  std::vector<float> values_around_codes() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const double scale = scales()[0], zero = zero_points()[0];
    const float largest = std::numeric_limits<float>::max();
    std::vector<float> values = {0.0F, -0.0F, largest, -largest};
    for (int64_t code = quantizer_.code_min() - 2; code <= quantizer_.code_max() + 2; ++code) {
      const auto level = static_cast<float>((static_cast<double>(code) - zero) * scale);
      const auto middle = static_cast<float>((static_cast<double>(code) + 0.5 - zero) * scale);
      values.insert(values.end(),
                    {level, middle, std::nextafter(middle, -kInfinity), std::nextafter(middle, kInfinity)});
    }
    return values;
  }

  std::span<const float> scales() const {
    return passes::contents_of(model_, passes::scale_tensor(quantizer_)).data<float>();
  }
  std::span<const int32_t> zero_points() const {
    return passes::contents_of(model_, quantizer_.zero_point()).data<int32_t>();
  }

  void compare(const Tensor& x) {
    const auto given = x.data<float>();
    const Tensor result = run(x).at(passes::kOwnResult);
    const auto found = std::as_const(result).data<float>();
    const arith::CodeRule codes = rule();
    const auto all_scales = scales();
    const auto all_zeros = zero_points();
    for_each_element(x.dims(), quantizer_.axis(), [&](size_t i, size_t c) {
      const float scale = all_scales[c];
      const int32_t zero = all_zeros[c];
      const float expected = arith::real_of(arith::code_of(given[i], scale, zero, codes), scale, zero);
      if (found[i] == expected) return;
      const std::string& layer = quantizer_.x().name();
      fail(placed(errors::own_quantizer_differs(layer, one_.name, fmt::format("{}", given[i]),
                                                fmt::format("{}", found[i]), fmt::format("{}", expected)),
                  layer, ""));
    });
  }

  const Model& model_;
  const LearnedQuantizer& one_;
  const FakeQuantize quantizer_;
  ThreadPool pool_;
  train::BatchRunner runner_;
};

bool declares_scale(const LearnedQuantizer& one) { return one.kind == QuantizerKind::own && one.declares_scale; }

void settle(Model& model, const LearnedQuantizer& one, const FakeQuantize& quantizer) {
  const Value x = quantizer.x();
  Declared declared(model, one, quantizer);
  const Tensors outputs = declared.run(x.is_tensor() ? model.tensors.at(x.name()) : declared.filled(std::array{0.0F}));
  const auto refuse = [&](const char* what, float found, const char* expected) {
    fail(placed(errors::own_quantizer_declaration(x.name(), one.name, what, fmt::format("{}", found), expected),
                x.name(), ""));
  };
  const ops::ObserveRange observer = quant::observer_of(quantizer);
  const bool is_centered = observer.zero_points() == "symmetric" || observer.zero_points() == "centered";
  const auto scales = outputs.at(passes::kOwnScale).data<float>();
  const auto zeros = outputs.at(passes::kOwnZeroPoint).data<float>();
  for (const float scale : scales) {
    if (!(scale > 0) || !std::isfinite(scale)) refuse(passes::kOwnScale, scale, "a finite number above 0");
    if (observer.power_of_two() && !arith::is_power_of_two(scale))
      refuse(passes::kOwnScale, scale, "a power of two, as the platform requires");
  }
  for (const float zero : zeros) {
    if (is_centered && zero != 0) refuse(passes::kOwnZeroPoint, zero, "0, as the platform requires");
    const auto least = static_cast<float>(quantizer.code_min()), most = static_cast<float>(quantizer.code_max());
    if (zero != std::floor(zero) || zero < least || zero > most) refuse(passes::kOwnZeroPoint, zero, "an integer code");
  }
  const auto to_scales = passes::own_contents(model, one.scale).data<float>();
  const auto to_zeros = passes::own_contents(model, one.zero_point).data<int32_t>();
  for (size_t c = 0; c < to_scales.size(); ++c) {  // a single number is that of all channels
    to_scales[c] = scales[c % scales.size()];
    to_zeros[c] = static_cast<int32_t>(zeros[c % zeros.size()]);
  }
}

}  // namespace

void settle_own_quantizers(Model& model) {
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) {
    if (declares_scale(one)) settle(model, one, passes::quantizers_of(model.graph, one.scale).front());
  }
}

Model with_declared_codes(const Model& prepared) {
  Model model = prepared;
  settle_own_quantizers(model);
  for (const LearnedQuantizer& one : prepared.metadata.learned_quantizers) {
    if (!declares_scale(one)) continue;
    for (const FakeQuantize& quantizer : passes::quantizers_of(model.graph, one.scale))
      Declared(model, one, quantizer).check();
    passes::drop_quantizer(model, one.scale);
  }
  return model;
}

}  // namespace halfstep::api
