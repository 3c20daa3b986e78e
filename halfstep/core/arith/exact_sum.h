// Exact sums of doubles: the result does not depend on order or partition.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace halfstep::arith {

/// Splits a term between -2^exponent and 2^exponent into two parts. The upper part is a multiple of 2^(exponent - 36),
/// the lower one of 2^(exponent - 72). Sums of up to kTermsOfPart upper or lower parts are exact in double.
class TermGrid {
 public:
  explicit TermGrid(int exponent);

  double bound() const { return bound_; }
  /// Rounding constants: adding and then subtracting upper_magic leaves the upper part of a term. lower_magic does the
  /// same with the remainder, for the lower part.
  double upper_magic() const { return upper_magic_; }
  double lower_magic() const { return lower_magic_; }
  double upper_step() const { return upper_step_; }
  double lower_step() const { return lower_step_; }

 private:
  double bound_, upper_step_, lower_step_, upper_magic_, lower_magic_;
};

inline constexpr int64_t kTermsOfPart = int64_t{1} << 16;

/// The parts of a term, or of a sum of up to kTermsOfPart terms.
struct TermParts {
  double upper = 0.0, lower = 0.0;

  /// Adds a term. A term outside the bounds counts as the nearest bound.
  void add(double term, const TermGrid& grid);
};

/// Sum of any number of terms that share one TermGrid.
class ExactSum {
 public:
  /// Number of doubles that store the sum in a state tensor.
  static constexpr int64_t kDigits = 3;

  ExactSum() = default;
  explicit ExactSum(std::span<const double> digits);

  void add(const TermParts& parts, const TermGrid& grid);
  void add(const ExactSum& other, int64_t times = 1);
  /// Divides the sum, which must be a multiple of `by`.
  void divide(int64_t by);
  /// Returns the sum as a double. It is rounded once or twice, always in the same way for the same sum.
  double value(const TermGrid& grid) const;
  void store(std::span<double> digits) const;

 private:
  void carry();

  /// Digits in units of the lower step, of the upper step, and of 2^40 upper steps. All except the last are
  /// non-negative and smaller than the next unit.
  std::array<int64_t, kDigits> digits_{};
};

}  // namespace halfstep::arith
