#include "halfstep/quant/selector.h"

#include <fnmatch.h>

#include "halfstep/ir/given_names.h"

namespace halfstep::quant {

LayerNames::LayerNames(const Model& model) : given_(given_names(model.notes)) {}

bool LayerNames::fits(const std::string& pattern, const std::string& layer) const {
  const auto fits_name = [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
  const auto given = given_.find(layer);
  return fits_name(layer) || (given != given_.end() && fits_name(given->second));
}

}  // namespace halfstep::quant
