// Selects layers by patterns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// Matches patterns with the names of layers: the names in the Model and the names in its source file.
class LayerNames {
 public:
  explicit LayerNames(const Model& model);
  /// Whether `pattern` (`*` and `?` as in file names) matches one of the following: the layer's name in the Model or
  /// its file, the module of its weight ("fc" of "fc.weight"), or, as "op:PATTERN", its operator.
  bool fits(const std::string& pattern, Op layer) const;
  /// Whether `pattern` matches `name`, a name in the Model, or its name in the file.
  bool fits(const std::string& pattern, const std::string& name) const;

 private:
  std::map<std::string, std::string> given_;
};

/// The end of a message for a `pattern` that matches none of `layers`.
std::string known_layers(const std::string& pattern, const std::vector<Op>& layers);

}  // namespace halfstep::quant
