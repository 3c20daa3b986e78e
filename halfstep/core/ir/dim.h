// Arithmetic of extents that may be unknown, for the shape rules that opgen generates from the records.
#pragma once

#include <cstdint>

#include "halfstep/core/base/shape.h"

namespace halfstep {

/// Result of a comparison of extents. Unknown if an operand is unknown. A rule fails only if it is certainly false.
enum class Truth { no, yes, unknown };
constexpr Truth truth(bool value) { return value ? Truth::yes : Truth::no; }
constexpr Truth operator&&(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
constexpr Truth operator||(Truth a, Truth b) {
  if (a == Truth::yes || b == Truth::yes) return Truth::yes;
  return a == Truth::no && b == Truth::no ? Truth::no : Truth::unknown;
}
constexpr Truth operator!(Truth a) { return a == Truth::unknown ? a : truth(a == Truth::no); }

/// An extent in an expression. The result of arithmetic is unknown or invalid on overflow, division by zero or an
/// unknown operand. `value` is kUnknown for unknown. Any other negative value is a known extent, which is rejected
/// later.
class Dim {
 public:
  constexpr Dim(int64_t value) : value_(value), known_(value != kUnknown) {}  // NOLINT: implicit on purpose
  static constexpr Dim exactly(int64_t value) {
    Dim dim(0);
    dim.value_ = value;
    return dim;
  }
  static constexpr Dim unknown() { return Dim(kUnknown); }
  constexpr bool known() const { return known_; }
  constexpr int64_t value() const { return value_; }

 private:
  int64_t value_;
  bool known_;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
/// Division rounded towards minus infinity, as `//` in the records.
Dim floor_div(Dim a, Dim b);
Dim operator%(Dim a, Dim b);
Truth operator==(Dim a, Dim b);
Truth operator!=(Dim a, Dim b);
Truth operator<(Dim a, Dim b);
Truth operator<=(Dim a, Dim b);
Truth operator>(Dim a, Dim b);
Truth operator>=(Dim a, Dim b);

}  // namespace halfstep
