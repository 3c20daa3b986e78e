#include "halfstep/core/base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace halfstep {

uint32_t Random::bits() {
  if (left_ == 0) {
    block_ = philox(seed_, stream_, index_++);
    left_ = 4;
  }
  return block_[static_cast<size_t>(--left_)];
}

float Random::uniform() { return static_cast<float>(bits() >> 8) * 0x1p-24f; }

float Random::normal() {
  const double u = (static_cast<double>(bits()) + 1.0) * 0x1p-32;  // in (0, 1], so that the logarithm is finite
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(bits()) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(angle));
}

uint64_t Random::below(uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  while (true) {
    const uint64_t high = bits();
    const uint64_t draw = high << 32 | bits();
    if (draw < limit) return draw % bound;
  }
}

std::vector<int64_t> Random::permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

}  // namespace halfstep
