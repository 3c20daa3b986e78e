#include "halfstep/core/base/diagnostics/location.h"

namespace halfstep {

std::string to_string(const Location& location) {
  return location.file.empty() ? std::string() : location.file + ":" + std::to_string(location.line);
}

}  // namespace halfstep
