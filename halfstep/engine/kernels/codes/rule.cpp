#include "halfstep/engine/kernels/codes/rule.h"

#include <fmt/format.h>

#include <limits>

#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels {

Status check_zero_point(int32_t zero_point, DType codes) {
  return with_codes(codes, [&]<class Code>() {
    using Limits = std::numeric_limits<Code>;
    if (zero_point >= Limits::min() && zero_point <= Limits::max()) return Status();
    return Status(errors::zero_point_out_of_range("x_zero_point", zero_point,
                                                  fmt::format("{} to {}", Limits::min(), Limits::max())));
  });
}

Verdict accept_filled(const Problem& problem) {
  for (const auto types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type != nullptr && count_elements(type->dims) == 0)
        return refuse(errors::kernel_takes_no_empty_operand("an operand"));
    }
  }
  return accept();
}

}  // namespace halfstep::kernels
