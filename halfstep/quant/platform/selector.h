// Which layers a pattern means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// The names that layers of a Model go by: ours, and those that its file has.
class LayerNames {
 public:
  explicit LayerNames(const Model& model);
  /// Whether `pattern` (`*` and `?` as in file names) fits either name of the layer, what its weight's name begins with
  /// ("fc" of "fc.weight"), or, as "op:PATTERN", its operator.
  bool fits(const std::string& pattern, Op layer) const;
  /// Whether it fits either name of what we call `name`.
  bool fits(const std::string& pattern, const std::string& name) const;

 private:
  std::map<std::string, std::string> given_;
};

/// How a message ends that says that `pattern` fits none of `layers`.
std::string known_layers(const std::string& pattern, const std::vector<Op>& layers);

}  // namespace halfstep::quant
