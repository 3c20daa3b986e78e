#include "halfstep/formats/builder/foreign_file.h"

#include <algorithm>

namespace halfstep::formats {

std::string Issue::what() const { return reason.substr(0, reason.find("; ")); }

std::string Issue::remedy() const {
  if (const size_t own = reason.find("; "); own != std::string::npos) return reason.substr(own + 2);
  if (needs_extents) return "give the inputs fixed extents";
  if (needs_values) return "cut the network in front of it, or run the file as it is (halfstep run)";
  return "write it with operators that are supported, or cut the network in front of it";
}

bool Coverage::complete() const {
  return std::all_of(issues.begin(), issues.end(), [](const Issue& i) { return i.needs_values; });
}

}  // namespace halfstep::formats
