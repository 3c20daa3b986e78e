#include "halfstep/formats/builder/foreign_file.h"

#include <algorithm>

namespace halfstep::formats {

std::string Issue::what() const {
  Diagnostic bare = reason;
  bare.remedy.clear();
  return bare.reason();
}

std::string Issue::remedy() const {
  if (!reason.remedy.empty()) return reason.remedy;
  return "write it with supported operators, or cut the network before it";
}

bool Coverage::complete() const {
  return std::all_of(issues.begin(), issues.end(), [](const Issue& i) { return i.needs_values; });
}

}  // namespace halfstep::formats
