#include "halfstep/kernels/quantized/rule.h"

namespace halfstep::kernels {

Status check_zero_point(int32_t zero_point, bool wide_codes) {
  const int32_t last = wide_codes ? 65535 : 255;
  if (zero_point >= 0 && zero_point <= last) return {};
  return Status(fmt::format("x_zero_point is {}, expected a code from 0 to {}", zero_point, last));
}

}  // namespace halfstep::kernels
