#include "halfstep/train/loop/units.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::train {
namespace {

/// Normal ratio of scales in one layer. Only channels below 1 / kUsual of the median learn more slowly.
constexpr float kUsual = 8.0F;

Tensor channel_units(const Tensor& scales) {
  const auto all = scales.data<float>();
  std::vector<float> sorted(all.size());
  std::ranges::transform(all, sorted.begin(), [](float scale) { return std::abs(scale); });
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  const float median = sorted[sorted.size() / 2];
  Tensor units(DType::f32, scales.dims());
  const auto to = units.data<float>();
  for (size_t c = 0; c < all.size(); ++c)
    to[c] = median > 0 ? std::min(1.0F, kUsual * std::abs(all[c]) / median) : 1.0F;
  return units;
}

/// A choice moves its weight by the scale, so its unit is 1 / scale.
Tensor choice_units(const Model& prepared, const LearnedQuantizer& one) {
  const Tensor& scales = prepared.tensors.at(one.scale);
  const Dims& dims = prepared.tensors.at(one.choice).dims();
  int64_t axis = -1;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (passes::scale_tensor(quantizer).name() == one.scale) axis = quantizer.axis();
  }
  Dims along(dims.size(), 1);
  if (axis >= 0) along[static_cast<size_t>(axis)] = scales.size();
  Tensor units(DType::f32, along);
  std::ranges::transform(scales.data<float>(), units.data<float>().begin(), [](float scale) { return 1.0F / scale; });
  return units;
}

/// Parameters that `value` is proportional to, found through operations that keep a factor.
class Proportional {
 public:
  std::set<std::string> of(Value value) {
    follow(value);
    return std::move(names_);
  }

 private:
  void follow(Value value) {
    const Op op = value.producer();
    if (!op) return;
    if (const auto quantizer = value.producer<ops::FakeQuantize>()) return follow_quantizer(*quantizer);
    const int weight = op.info().quant.weight, bias = op.info().quant.bias;
    if (weight >= 0) {
      const Value from = op.in(weight);
      if (const auto quantizer = from.producer<ops::FakeQuantize>()) {
        follow_quantizer(*quantizer);
      } else {
        add(from);
      }
      if (bias >= 0) add(op.in(bias));
    } else if (passes::moves_codes(op) || value.producer<ops::Relu>() || value.producer<ops::LeakyRelu>() ||
               value.producer<ops::AvgPool2d>() || value.producer<ops::GlobalAvgPool>()) {
      for (const Value input : passes::activation_inputs(op)) follow(input);
    }
  }

  void follow_quantizer(const ops::FakeQuantize& quantizer) {
    if (quant::is_learned(quantizer)) names_.insert(passes::scale_tensor(quantizer).name());
    add(quantizer.x());
    follow(quantizer.x());
  }

  void add(Value tensor) {
    if (tensor && tensor.is_tensor() && tensor.role() == Role::parameter) names_.insert(tensor.name());
  }

  std::set<std::string> names_;
};

/// One number per parameter. If several outputs depend on it, the smallest.
std::map<std::string, float> output_units(const Graph& graph, const Spreads& spreads) {
  std::map<std::string, float> units;
  const auto& names = graph.body().output_names();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto spread = spreads.find(names[i]);
    if (spread == spreads.end()) continue;
    for (const std::string& name : Proportional().of(graph.outputs()[i])) {
      const auto [known, is_new] = units.emplace(name, spread->second);
      known->second = std::min(known->second, spread->second);
    }
  }
  return units;
}

}  // namespace

std::map<std::string, Tensor> units_of(const Model& prepared, const Spreads& spreads) {
  std::map<std::string, Tensor> units;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (quantizer.axis() != 0 || !quantizer.x().is_tensor() || !quant::is_learned(quantizer)) continue;
    const Value scale = passes::scale_tensor(quantizer);
    const Tensor of_scale = channel_units(prepared.tensors.at(scale.name()));
    Dims along(quantizer.x().dims().size(), 1);
    along[0] = of_scale.size();
    units[scale.name()] = of_scale;
    units[quantizer.x().name()] = of_scale.reshaped(along);
  }
  for (const auto& [name, spread] : output_units(prepared.graph, spreads)) {
    const auto [unit, is_new] =
        units.try_emplace(name, DType::f32, Dims(prepared.tensors.at(name).dims().size(), int64_t{1}));
    if (is_new) std::ranges::fill(unit->second.data<float>(), 1.0F);
    unit->second = unit->second.clone();  // the units of a scale and its weights share storage
    for (float& element : unit->second.data<float>()) element *= spread;
  }
  for (const LearnedQuantizer& one : prepared.metadata.learned_quantizers) {
    if (!one.choice.empty()) units[one.choice] = choice_units(prepared, one);
  }
  for (const Normalization& norm : prepared.metadata.normalizations) {
    units.erase(norm.weight);  // the scale and shift of a norm set the magnitude of a channel
    if (const auto bias = units.extract(norm.bias)) units[norm.scale] = units[norm.shift] = bias.mapped();
  }
  return units;
}

}  // namespace halfstep::train
