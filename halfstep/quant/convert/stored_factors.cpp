#include "halfstep/quant/convert/stored_factors.h"

namespace halfstep::quant {

void set_scales(Attributes& attributes, const std::map<std::string, float>& scales) {
  for (const auto& [name, scale] : scales) attributes[name] = static_cast<double>(scale);
}

void set_factor(Attributes& attributes, const arith::Requantizer& requantizer) {
  const auto* scale = std::get_if<arith::FixedScale>(&requantizer);
  if (scale == nullptr) return;
  attributes["multiplier"] = int64_t{scale->positive.m};
  attributes["shift"] = int64_t{scale->positive.shift};
}

void set_divided_later(Attributes& attributes, const arith::RequantizeRule& rule, float x, float y) {
  attributes["multiplier"] = attributes["shift"] = int64_t{0};
  attributes["requantize"] = std::string(arith::traits(rule.form).name);
  attributes["multiplier_bits"] = int64_t{rule.multiplier_bits};
  attributes["average_bits"] = int64_t{rule.average_bits};
  set_scales(attributes, {{"x_scale", x}, {"y_scale", y}});
}

}  // namespace halfstep::quant
