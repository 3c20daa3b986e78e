#include "halfstep/quant/platform/selector.h"

#include <fnmatch.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::quant {
namespace {

const std::string kOperator = "op:";

/// "fc" if the source weight of the layer is "fc.weight", even if other tensors were derived from it. Otherwise "".
std::string module_of(Op layer) {
  const int port = layer.info().quant.weight;
  Value weight = port < 0 ? Value() : layer.in(port);
  if (weight && weight.producer<ops::FakeQuantize>()) weight = weight.producer<ops::FakeQuantize>()->x();
  const size_t end = weight && weight.is_tensor() ? weight.name().find(".weight") : std::string::npos;
  return end == std::string::npos ? "" : weight.name().substr(0, end);
}

bool fits_name(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

LayerNames::LayerNames(const Model& model) : given_(model.metadata.given_names) {}

bool LayerNames::fits(const std::string& pattern, const std::string& name) const {
  return fits_name(pattern, name) || fits_name(pattern, given_name(given_, name));
}

bool LayerNames::fits(const std::string& pattern, Op layer) const {
  if (pattern.starts_with(kOperator)) return fits_name(pattern, kOperator + layer.info().name);
  return fits(pattern, layer.name()) || fits_name(pattern, module_of(layer));
}

std::string known_layers(const std::string& pattern, const std::vector<Op>& layers) {
  const bool by_operator = pattern.starts_with(kOperator);
  std::vector<std::string> names;
  for (Op layer : layers) {
    const std::string name = by_operator ? kOperator + layer.info().name : layer.name();
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return known_names(pattern, names);
}

}  // namespace halfstep::quant
