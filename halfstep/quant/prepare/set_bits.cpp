#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/layer_bits.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

using passes::QuantizedStep;

std::string pattern_hint(const std::string& selector, const std::vector<QuantizedStep>& steps) {
  std::vector<Op> layers;
  for (const auto& step : steps) layers.push_back(layer_of(step));
  return known_layers(selector, layers);
}

std::vector<QuantizedStep> matching(const std::vector<QuantizedStep>& steps, const std::string& selector,
                                    const LayerNames& names) {
  std::vector<QuantizedStep> chosen;
  std::ranges::copy_if(steps, std::back_inserter(chosen),
                       [&](const auto& step) { return names.fits(selector, layer_of(step)); });
  if (chosen.empty()) fail(errors::selector_matches_nothing("selector", selector, pattern_hint(selector, steps)));
  const auto has_codes = [](const auto& step) { return step.weight || step.quantizer; };
  if (std::ranges::none_of(chosen, has_codes))
    fail(errors::layer_without_quantizer(selector, chosen.front().main.info().name, chosen.front().name()));
  return chosen;
}

}  // namespace

void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> activation_bits) {
  require_in_range(PrepareOptions{.weight_bits = weight_bits, .activation_bits = activation_bits});
  const Platform& platform = platform_of(model);
  BitWidths bit_widths;
  const auto steps = steps_of_all_blocks(model);
  for (const auto& step : matching(steps, selector, LayerNames(model))) {
    if (weight_bits && step.weight) bit_widths[passes::scale_tensor(step.weight).name()] = *weight_bits;
    if (activation_bits && step.quantizer) bit_widths[passes::scale_tensor(step.quantizer).name()] = *activation_bits;
  }
  set_bit_widths(model, platform, bit_widths);
}

void set_inner_bits(Model& model, int weight_bits, int activation_bits) {
  require_in_range(PrepareOptions{.weight_bits = weight_bits, .activation_bits = activation_bits});
  const Platform& platform = platform_of(model);
  const FirstLastScales& edges = first_last_scales(model);
  BitWidths bit_widths;
  const auto set = [&](const ops::FakeQuantize& quantizer, int bits) {
    if (!quantizer) return;
    const std::string scale = passes::scale_tensor(quantizer).name();
    if (!edges.contains(scale)) bit_widths[scale] = bits;
  };
  for (const auto& step : steps_of_all_blocks(model)) {
    set(step.weight, weight_bits);
    set(step.quantizer, activation_bits);
  }
  set_bit_widths(model, platform, bit_widths);
}

}  // namespace halfstep::quant
