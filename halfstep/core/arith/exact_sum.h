// Sums of doubles that are the same in any order and however they are split.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace halfstep::arith {

/// How a term between -2^exponent and 2^exponent is cut into two multiples of powers of two: one of 2^(exponent - 36),
/// and the rest to 2^(exponent - 72). Sums of up to kTermsOfPart of either are exact in double.
class TermGrid {
 public:
  explicit TermGrid(int exponent);

  double bound() const { return bound_; }
  /// Added and subtracted again, it leaves the upper part of a term, and the other one the lower part of the rest.
  double upper_magic() const { return upper_magic_; }
  double lower_magic() const { return lower_magic_; }
  double upper_step() const { return upper_step_; }
  double lower_step() const { return lower_step_; }

 private:
  double bound_, upper_step_, lower_step_, upper_magic_, lower_magic_;
};

inline constexpr int64_t kTermsOfPart = int64_t{1} << 16;

/// A term, or the sum of up to kTermsOfPart of them.
struct TermParts {
  double upper = 0.0, lower = 0.0;

  /// Adds a term, which counts as the nearest bound where it lies outside.
  void add(double term, const TermGrid& grid);
};

/// Any number of terms of one grid.
class ExactSum {
 public:
  /// As doubles, a state tensor holds it.
  static constexpr int64_t kDigits = 3;

  ExactSum() = default;
  explicit ExactSum(std::span<const double> digits);

  void add(const TermParts& parts, const TermGrid& grid);
  void add(const ExactSum& other, int64_t times = 1);
  /// The sum must be a multiple of it.
  void divide(int64_t by);
  /// Rounded once or twice, in the same way for the same sum.
  double value(const TermGrid& grid) const;
  void store(std::span<double> digits) const;

 private:
  void carry();

  /// In steps of the lower part, of the upper one, and of 2^40 of these; all but the last are not negative and smaller
  /// than the next.
  std::array<int64_t, kDigits> digits_{};
};

}  // namespace halfstep::arith
