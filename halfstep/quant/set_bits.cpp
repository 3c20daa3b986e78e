#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "halfstep/base/nearest.h"
#include "halfstep/base/status.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::quant {
namespace {

std::string pattern_hint(const std::string& selector, const std::vector<passes::QuantizedStep>& steps) {
  std::vector<std::string> names;
  for (const auto& step : steps) names.push_back(step.name());
  return did_you_mean(selector, names);
}

}  // namespace

void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> feature_bits) {
  const Platform platform = platform_of(model);
  const auto steps = passes::quantized_steps(model);
  std::vector<passes::QuantizedStep> chosen;
  for (const auto& step : steps) {
    if (fnmatch(selector.c_str(), step.name().c_str(), 0) == 0) chosen.push_back(step);
  }
  if (chosen.empty()) fail("selector '{}' matches no layer{}", selector, pattern_hint(selector, steps));
  const auto has_codes = [](const auto& step) { return step.weight || step.quantizer; };
  if (std::ranges::none_of(chosen, has_codes))
    fail("selector '{}': {} '{}' has no quantizer of its own, expected a layer or a quantizer", selector,
         chosen.front().main.info().name, chosen.front().name());
  for (const auto& step : chosen) {  // all checks before the first change
    if (step.kind != passes::StepKind::compute) continue;
    const int weight = step.weight ? weight_bits.value_or(bits_of(step.weight)) : 0;
    platform.require_legal(step.main.info(), step.main.where(), weight, feature_bits.value_or(bits_of(step.quantizer)));
  }
  for (const auto& step : chosen) {
    if (weight_bits && step.weight) set_quantizer_bits(model, platform, step.weight, *weight_bits);
    if (feature_bits && step.quantizer) set_quantizer_bits(model, platform, step.quantizer, *feature_bits);
  }
}

}  // namespace halfstep::quant
