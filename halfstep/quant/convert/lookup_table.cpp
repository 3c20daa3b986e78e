#include "halfstep/quant/convert/lookup_table.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"

namespace halfstep::quant {
namespace {

/// Sets entry c - x.code_min to code_of(c - x.zero_point).
template <class CodeOf>
Tensor table_of(const CodeFormat& x, DType code_type, CodeOf&& code_of) {
  Tensor table(code_type, {int64_t{x.code_max} - x.code_min + 1});
  for (int32_t c = x.code_min; c <= x.code_max; ++c)
    set_element(table, c - x.code_min, static_cast<double>(code_of(c - x.zero_point)));
  return table;
}

}  // namespace

Tensor lookup_table(Op function, const CodeFormat& x, const CodeFormat& y, DType code_type) {
  const arith::PointwiseFunction* f = arith::find_function(function.info().name);
  HS_CHECK(f != nullptr);
  return table_of(x, code_type, [&](int32_t steps_of_x) {
    const double real = f->value(steps_of_x * static_cast<double>(x.scale), function.attributes());
    const double steps = std::nearbyint(real / static_cast<double>(y.scale)) + y.zero_point;
    return !(steps >= y.code_min) ? y.code_min : std::min<double>(steps, y.code_max);
  });
}

Tensor rescale_table(const CodeFormat& x, const CodeFormat& y, DType code_type, const arith::Requantizer& requantizer) {
  return table_of(x, code_type, [&](int32_t steps) {
    return std::clamp<int64_t>(arith::requantize(requantizer, steps, y.zero_point), y.code_min, y.code_max);
  });
}

}  // namespace halfstep::quant
