#include "halfstep/core/arith/exact_sum.h"

#include <algorithm>
#include <cmath>

namespace halfstep::arith {
namespace {

constexpr int kPartBits = 36;  ///< bits of one part: a sum of 2^16 parts has 52 bits, exact in a double
constexpr int kMiddleBits = 40;

int64_t divided_down(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

}  // namespace

TermGrid::TermGrid(int exponent) {
  constexpr int kLeast = -900, kMost = 900;  // keeps all steps normal numbers
  const int e = std::clamp(exponent, kLeast, kMost);
  constexpr double kMagic = 0x1.8p52;
  bound_ = std::ldexp(1.0, e);
  upper_step_ = std::ldexp(1.0, e - kPartBits);
  lower_step_ = std::ldexp(1.0, e - 2 * kPartBits);
  upper_magic_ = kMagic * upper_step_;
  lower_magic_ = kMagic * lower_step_;
}

void TermParts::add(double term, const TermGrid& grid) {
  const double inside = std::clamp(term, -grid.bound(), grid.bound());
  const double above = (inside + grid.upper_magic()) - grid.upper_magic();
  upper += above;
  lower += ((inside - above) + grid.lower_magic()) - grid.lower_magic();
}

ExactSum::ExactSum(std::span<const double> digits) {
  std::ranges::transform(digits, digits_.begin(), [](double digit) { return static_cast<int64_t>(digit); });
}

void ExactSum::add(const TermParts& parts, const TermGrid& grid) {
  digits_[0] += static_cast<int64_t>(parts.lower / grid.lower_step());
  digits_[1] += static_cast<int64_t>(parts.upper / grid.upper_step());
  carry();
}

void ExactSum::add(const ExactSum& other, int64_t times) {
  for (size_t i = 0; i < digits_.size(); ++i) digits_[i] += times * other.digits_[i];
  carry();
}

void ExactSum::divide(int64_t by) {
  int64_t rest = 0;
  for (size_t i = digits_.size(); i-- > 0;) {
    const int64_t all = rest * (i == 0 ? int64_t{1} << kPartBits : int64_t{1} << kMiddleBits) + digits_[i];
    digits_[i] = divided_down(all, by);
    rest = all - digits_[i] * by;
  }
}

double ExactSum::value(const TermGrid& grid) const {
  const double uppers = std::ldexp(static_cast<double>(digits_[2]), kMiddleBits) + static_cast<double>(digits_[1]);
  return uppers * grid.upper_step() + static_cast<double>(digits_[0]) * grid.lower_step();
}

void ExactSum::store(std::span<double> digits) const {
  std::ranges::transform(digits_, digits.begin(), [](int64_t digit) { return static_cast<double>(digit); });
}

void ExactSum::carry() {
  const int64_t middle = divided_down(digits_[0], int64_t{1} << kPartBits);
  digits_[0] -= middle * (int64_t{1} << kPartBits);
  digits_[1] += middle;
  const int64_t last = divided_down(digits_[1], int64_t{1} << kMiddleBits);
  digits_[1] -= last * (int64_t{1} << kMiddleBits);
  digits_[2] += last;
}

}  // namespace halfstep::arith
