#include "halfstep/core/arith/row_softmax.h"

#include <cmath>

namespace halfstep::arith {

Exponentials::Exponentials(float scale) {
  const auto entry = [&](double steps) {
    return static_cast<int32_t>(
        std::nearbyint(std::ldexp(std::exp(-steps * static_cast<double>(scale)), kExponentialBits)));
  };
  for (size_t i = 0; i < fine.size(); ++i) {
    fine[i] = entry(static_cast<double>(i));
    coarse[i] = entry(256.0 * static_cast<double>(i));
  }
}

}  // namespace halfstep::arith
