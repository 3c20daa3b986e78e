#include "halfstep/core/arith/levels.h"

#include <algorithm>
#include <bit>

namespace halfstep::arith {

PowerSums power_sums(int bits) {
  const int terms = (bits + 1) / 2;
  const int finest = terms - 1 + 2 * terms;  // exponent of the last entry of the last term
  PowerSums sums;
  sums.count = 1;
  for (int term = 0; term < terms; ++term) {
    const bool is_short = bits % 2 == 1 && term == terms - 1;
    const int known = sums.count;
    for (int entry = 0; entry < (is_short ? 1 : 3); ++entry) {
      for (int i = 0; i < known; ++i) sums.at[sums.count++] = sums.at[i] + (1 << (finest - term - entry * terms));
    }
  }
  std::sort(sums.at, sums.at + sums.count);
  return sums;
}

Levels::Levels(LevelKind kind, int32_t code_min, int32_t code_max)
    : kind_(kind), code_min_(code_min), code_max_(code_max) {
  if (kind != LevelKind::powers) return;
  const int bits = std::bit_width(static_cast<uint32_t>(code_max - code_min));
  unsigned_ = power_sums(bits);
  signed_ = power_sums(bits - 1);
}

}  // namespace halfstep::arith
