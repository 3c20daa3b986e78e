#include "halfstep/core/base/status.h"

namespace halfstep {

void internal_error(const char* file, int line, const std::string& what) {
  throw Error(ErrorKind::internal, fmt::format("this is a bug: {}:{}: {}", file, line, what));
}

}  // namespace halfstep
