#include "halfstep/core/base/shape.h"

#include <algorithm>

#include "halfstep/core/base/status.h"

namespace halfstep {

int64_t count_elements(std::span<const int64_t> dims) {
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
    fail(errors::dims_unknown(to_string(dims)));
  int64_t count = 1;
  for (const int64_t extent : dims) {
    if (extent != 0 && count > kMaxElements / extent) fail(errors::too_many_elements(to_string(dims)));
    count *= extent;
  }
  return count;
}

std::string to_string(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i] == kUnknown ? "?" : std::to_string(dims[i]);
  }
  return text + "]";
}

bool Type::is_static() const {
  return std::none_of(dims.begin(), dims.end(), [](int64_t d) { return d == kUnknown; });
}

std::string to_string(const Type& type) { return std::string(name(type.dtype)) + to_string(type.dims); }

}  // namespace halfstep
