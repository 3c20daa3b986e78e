// Which layers a pattern means.
#pragma once

#include <map>
#include <string>

#include "halfstep/ir/model.h"

namespace halfstep::quant {

/// The names that layers of a Model go by: ours, and those that its file has.
class LayerNames {
 public:
  explicit LayerNames(const Model& model);
  /// Whether `pattern` (`*` and `?` as in file names) fits either name of the layer.
  bool fits(const std::string& pattern, const std::string& layer) const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace halfstep::quant
