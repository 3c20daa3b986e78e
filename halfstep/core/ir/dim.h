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

namespace detail {
template <class F>
constexpr Dim combine(Dim a, Dim b, F overflows) {
  if (!a.known() || !b.known()) return Dim::unknown();
  int64_t result = 0;
  return overflows(a.value(), b.value(), &result) ? Dim::unknown() : Dim::exactly(result);
}
template <class F>
constexpr Truth compare(Dim a, Dim b, F holds) {
  return a.known() && b.known() ? truth(holds(a.value(), b.value())) : Truth::unknown;
}
}  // namespace detail

constexpr Dim operator+(Dim a, Dim b) {
  return detail::combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_add_overflow(x, y, r); });
}
constexpr Dim operator-(Dim a, Dim b) {
  return detail::combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_sub_overflow(x, y, r); });
}
constexpr Dim operator*(Dim a, Dim b) {
  return detail::combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_mul_overflow(x, y, r); });
}
/// Division towards minus infinity, as `//` in the records.
constexpr Dim floor_div(Dim a, Dim b) {
  return detail::combine(a, b, [](int64_t x, int64_t y, int64_t* r) {
    if (y == 0 || (x == INT64_MIN && y == -1)) return true;
    *r = x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
    return false;
  });
}
constexpr Dim operator%(Dim a, Dim b) {
  return detail::combine(a, b, [](int64_t x, int64_t y, int64_t* r) {
    if (y == 0 || y == -1) return y == 0 ? true : (*r = 0, false);
    *r = x % y;
    return false;
  });
}
constexpr Truth operator==(Dim a, Dim b) {
  return detail::compare(a, b, [](int64_t x, int64_t y) { return x == y; });
}
constexpr Truth operator!=(Dim a, Dim b) { return !(a == b); }
constexpr Truth operator<(Dim a, Dim b) {
  return detail::compare(a, b, [](int64_t x, int64_t y) { return x < y; });
}
constexpr Truth operator<=(Dim a, Dim b) {
  return detail::compare(a, b, [](int64_t x, int64_t y) { return x <= y; });
}
constexpr Truth operator>(Dim a, Dim b) { return b < a; }
constexpr Truth operator>=(Dim a, Dim b) { return b <= a; }

}  // namespace halfstep
