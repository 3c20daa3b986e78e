#include "halfstep/core/arith/row_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halfstep/core/arith/errors.h"

namespace halfstep::arith {
namespace {

/// Bits of a row's sum of squares times 2^guard. It stays below 2^60, and so does the scaled epsilon.
constexpr int kMostBits = 60;
constexpr int kMostGuard = 16;
/// Most fraction bits of factors and biases.
constexpr int kMostShift = 40;

/// Returns floor(sqrt(square)).
uint64_t root_of(uint64_t square) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(square)));
  while (root * root > square) --root;
  while ((root + 1) * (root + 1) <= square) ++root;
  return root;
}

double largest(std::span<const float> numbers) {
  double most = 0;
  for (const float number : numbers) most = std::max(most, std::fabs(static_cast<double>(number)));
  return most;
}

}  // namespace

double squared_steps(double epsilon, float x_scale) {
  const double scale = x_scale;
  return epsilon / (scale * scale);
}

Status derive_epsilon(double epsilon, int64_t elements, int code_bits, RowNorm& result) {
  const auto count = static_cast<double>(elements);
  const double of_row = epsilon * count * count;
  int guard = std::min(kMostGuard, kMostBits - 2 * static_cast<int>(std::ceil(std::log2(count))) - 2 * code_bits);
  guard -= guard & 1;
  while (guard >= 0 && std::ldexp(of_row, guard) >= std::ldexp(1.0, kMostBits)) guard -= 2;
  if (guard < 0 || !std::isfinite(of_row))
    return Status(errors::norm_without_room(fmt::format("{:.6g}", epsilon), elements));
  result.guard = guard;
  result.epsilon = std::llrint(std::ldexp(of_row, guard));
  return {};
}

Status derive(const NormNumbers& numbers, RowNorm& result) {
  const double y_scale = numbers.y_scale;
  Status status = derive_epsilon(squared_steps(numbers.epsilon, numbers.x_scale), std::ssize(numbers.scale),
                                 numbers.code_bits, result);
  if (!status.ok()) return status;

  const double factor = largest(numbers.scale) / y_scale, bias = largest(numbers.bias) / y_scale;
  int shift = kMostShift;
  const auto fits = [&] {
    return std::ldexp(factor, shift - kNormalizedBits) < std::numeric_limits<int32_t>::max() &&
           std::ldexp(bias, shift) < std::ldexp(1.0, kMostBits);
  };
  while (shift > 0 && !fits()) --shift;
  if (shift < 1)
    return Status(errors::norm_without_factors(fmt::format("{:.6g}", factor), fmt::format("{:.6g}", bias)));
  result.shift = shift;
  result.factor.clear();
  result.bias.assign(numbers.scale.size(), 0);
  for (const float scale : numbers.scale)
    result.factor.push_back(static_cast<int32_t>(
        std::nearbyint(std::ldexp(static_cast<double>(scale) / y_scale, shift - kNormalizedBits))));
  for (size_t i = 0; i < numbers.bias.size(); ++i)
    result.bias[i] = std::llrint(std::ldexp(static_cast<double>(numbers.bias[i]) / y_scale, shift));
  return {};
}

RowRoot RowRoot::of(int64_t count, int64_t sum, int64_t squares, bool centered, int64_t epsilon, int32_t guard) {
  RowRoot row{count, centered ? sum : 0, 0, 0};
  const uint64_t unmoved = square(count, sum, squares, centered, epsilon, guard);
  if (unmoved == 0) return row;
  const int pairs = std::max(0, (std::countl_zero(unmoved) - 2) / 2);
  row.root = root_of(unmoved << (2 * pairs));
  row.shift = pairs + guard / 2 + kNormalizedBits;
  return row;
}

int64_t RowRoot::normalized(int64_t steps) const {
  if (root == 0) return 0;
  const auto divisor = static_cast<int64_t>(root);
  const auto dividend = static_cast<int64_t>(static_cast<uint64_t>(count * steps - sum) << shift);
  // floor((2 * dividend + divisor) / (2 * divisor)), derived from a division that truncates
  int64_t quotient = dividend / divisor, rest = dividend % divisor;
  if (rest < 0) {
    rest += divisor;
    --quotient;
  }
  return quotient + (2 * rest >= divisor ? 1 : 0);
}

}  // namespace halfstep::arith
