// Extents that may be unknown, for the shape rules that opgen writes out of the records.
#pragma once

#include <cstdint>

#include "halfstep/core/base/shape.h"

namespace halfstep {

/// A comparison of extents: unknown when an operand is. A rule fails only when it is certainly false.
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

/// An extent in an expression. Arithmetic that overflows, divides by zero or meets an unknown gives unknown-or-invalid:
/// `value` is kUnknown for unknown; any other negative value is a real (and then rejected) extent.
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
/// Division towards minus infinity, as `//` in the records.
Dim floor_div(Dim a, Dim b);
Dim operator%(Dim a, Dim b);
Truth operator==(Dim a, Dim b);
Truth operator!=(Dim a, Dim b);
Truth operator<(Dim a, Dim b);
Truth operator<=(Dim a, Dim b);
Truth operator>(Dim a, Dim b);
Truth operator>=(Dim a, Dim b);

}  // namespace halfstep
