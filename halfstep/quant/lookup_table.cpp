#include "halfstep/quant/lookup_table.h"

#include <cmath>

#include "halfstep/arith/function.h"
#include "halfstep/base/status.h"

namespace halfstep::quant {

Tensor lookup_table(Op function, const CodeFormat& x, const CodeFormat& y, DType code_type) {
  const arith::PointwiseFunction* f = arith::find_function(function.info().name);
  HS_CHECK(f != nullptr && x.code_min == 0);
  Tensor table(code_type, {int64_t{x.code_max} + 1});
  const auto store = [&](auto entries) {
    for (size_t c = 0; c < entries.size(); ++c) {
      const double real = static_cast<double>(static_cast<int64_t>(c) - x.zero_point) * static_cast<double>(x.scale);
      const double steps =
          std::nearbyint(f->value(real, function.attributes()) / static_cast<double>(y.scale)) + y.zero_point;
      const double code = !(steps >= y.code_min) ? y.code_min : std::min<double>(steps, y.code_max);
      entries[c] = static_cast<std::remove_reference_t<decltype(entries[c])>>(code);
    }
  };
  if (code_type == DType::u8) {
    store(table.data<uint8_t>());
  } else {
    store(table.data<uint16_t>());
  }
  return table;
}

}  // namespace halfstep::quant
