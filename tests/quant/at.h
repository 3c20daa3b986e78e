// Catalogue diagnostics with the parts that a caller adds.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"

namespace halfstep::test {

/// Sets the place of a diagnostic.
inline Diagnostic at(const std::string& where, Diagnostic one) {
  one.where = where;
  return one;
}

/// Sets the layer of a diagnostic, at line `line` of g.ir.
inline Diagnostic on(const std::string& layer, int line, Diagnostic one) {
  one.layer = layer;
  return at("g.ir:" + std::to_string(line) + ": node '" + layer + "'", one);
}

/// Removes remedies, which depend on the command.
inline std::vector<Diagnostic> bare(std::vector<Diagnostic> all) {
  for (Diagnostic& one : all) one.remedy.clear();
  return all;
}

}  // namespace halfstep::test
