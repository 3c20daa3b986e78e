#include "halfstep/engine/runtime/iterated_rows.h"

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/runtime/errors.h"

namespace halfstep::runtime {

Tensor row_of(const Tensor& tensor, int64_t i) {
  Tensor made(tensor.dtype(), Dims(tensor.dims().begin() + 1, tensor.dims().end()));
  std::memcpy(made.raw(), tensor.raw() + static_cast<size_t>(i) * made.bytes(), made.bytes());
  return made;
}

Tensor stacked(const std::vector<Tensor>& rows, const Type& type) {
  Dims dims = rows.empty() ? type.dims : rows[0].dims();
  if (rows.empty()) {
    std::replace(dims.begin(), dims.end(), kUnknown, int64_t{0});
  } else {
    dims.insert(dims.begin(), static_cast<int64_t>(rows.size()));
  }
  Tensor made(type.dtype, dims);
  std::byte* to = made.raw();
  for (const Tensor& each : rows) {
    if (each.type() != rows[0].type())
      fail(errors::stacked_rows_differ(to_string(each.type()), to_string(rows[0].type())));
    std::memcpy(to, each.raw(), each.bytes());
    to += each.bytes();
  }
  return made;
}

}  // namespace halfstep::runtime
