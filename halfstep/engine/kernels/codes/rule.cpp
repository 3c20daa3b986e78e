#include "halfstep/engine/kernels/codes/rule.h"

#include <limits>

#include "halfstep/engine/kernels/common/codes.h"

namespace halfstep::kernels {

Status check_zero_point(int32_t zero_point, DType codes) {
  return with_codes(codes, [&]<class Code>() {
    using Limits = std::numeric_limits<Code>;
    if (zero_point >= Limits::min() && zero_point <= Limits::max()) return Status();
    return Status(
        fmt::format("x_zero_point is {}, expected a code from {} to {}", zero_point, Limits::min(), Limits::max()));
  });
}

Verdict accept_filled(const Problem& problem) {
  for (const auto types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type != nullptr && count_elements(type->dims) == 0) return refuse("an operand is empty");
    }
  }
  return accept();
}

}  // namespace halfstep::kernels
