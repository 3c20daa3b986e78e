#include "halfstep/kernels/codes/rule.h"

#include <limits>

#include "halfstep/kernels/common/codes.h"

namespace halfstep::kernels {

Status check_zero_point(int32_t zero_point, DType codes) {
  return with_codes(codes, [&]<class Code>() {
    using Limits = std::numeric_limits<Code>;
    if (zero_point >= Limits::min() && zero_point <= Limits::max()) return Status();
    return Status(
        fmt::format("x_zero_point is {}, expected a code from {} to {}", zero_point, Limits::min(), Limits::max()));
  });
}

}  // namespace halfstep::kernels
