#include "halfstep/train/channel_rates.h"

#include <algorithm>
#include <cmath>

#include "halfstep/ir/ops.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::train {
namespace {

/// Scales of one layer differ by so much where nothing is wrong: only channels below learn more slowly.
constexpr float kUsual = 8.0F;

Tensor rates_of(const Tensor& scales) {
  const auto all = scales.data<float>();
  std::vector<float> sorted(all.size());
  std::ranges::transform(all, sorted.begin(), [](float scale) { return std::abs(scale); });
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  const float median = sorted[sorted.size() / 2];
  Tensor rates(DType::f32, scales.dims());
  const auto to = rates.data<float>();
  for (size_t c = 0; c < all.size(); ++c) {
    const float share = median > 0 ? std::min(1.0F, kUsual * std::abs(all[c]) / median) : 1.0F;
    to[c] = share * share;
  }
  return rates;
}

}  // namespace

std::map<std::string, Tensor> channel_rates(const Model& prepared) {
  std::map<std::string, Tensor> rates;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (quantizer.axis() != 0 || !quantizer.x().is_tensor() || !quant::is_learned(quantizer)) continue;
    const Value scale = passes::scale_tensor(quantizer);
    const Tensor of_scale = rates_of(prepared.tensors.at(scale.name()));
    Dims along(quantizer.x().dims().size(), 1);
    along[0] = of_scale.size();
    rates[scale.name()] = of_scale;
    if (quantizer.x().role() == Role::parameter) rates[quantizer.x().name()] = of_scale.reshaped(along);
  }
  return rates;
}

}  // namespace halfstep::train
