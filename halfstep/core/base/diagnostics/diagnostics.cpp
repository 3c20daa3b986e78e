#include "halfstep/core/base/diagnostics/diagnostics.h"

namespace halfstep {

void add_remedy(std::vector<Diagnostic>& diagnostics, const std::string& remedy) {
  for (Diagnostic& one : diagnostics) {
    if (one.remedy.empty()) one.remedy = remedy;
  }
}

}  // namespace halfstep
