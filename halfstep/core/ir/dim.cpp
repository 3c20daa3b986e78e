#include "halfstep/core/ir/dim.h"

namespace halfstep {
namespace {

template <class F>
Dim combine(Dim a, Dim b, F overflows) {
  if (!a.known() || !b.known()) return Dim::unknown();
  int64_t result = 0;
  return overflows(a.value(), b.value(), &result) ? Dim::unknown() : Dim::exactly(result);
}

template <class F>
Truth compare(Dim a, Dim b, F holds) {
  return a.known() && b.known() ? truth(holds(a.value(), b.value())) : Truth::unknown;
}

}  // namespace

Dim operator+(Dim a, Dim b) {
  return combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_add_overflow(x, y, r); });
}

Dim operator-(Dim a, Dim b) {
  return combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_sub_overflow(x, y, r); });
}

Dim operator*(Dim a, Dim b) {
  return combine(a, b, [](int64_t x, int64_t y, int64_t* r) { return __builtin_mul_overflow(x, y, r); });
}

Dim floor_div(Dim a, Dim b) {
  return combine(a, b, [](int64_t x, int64_t y, int64_t* r) {
    if (y == 0 || (x == INT64_MIN && y == -1)) return true;
    *r = x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
    return false;
  });
}

Dim operator%(Dim a, Dim b) {
  return combine(a, b, [](int64_t x, int64_t y, int64_t* r) {
    if (y == 0 || y == -1) return y == 0 ? true : (*r = 0, false);
    *r = x % y;
    return false;
  });
}

Truth operator==(Dim a, Dim b) {
  return compare(a, b, [](int64_t x, int64_t y) { return x == y; });
}

Truth operator!=(Dim a, Dim b) { return !(a == b); }

Truth operator<(Dim a, Dim b) {
  return compare(a, b, [](int64_t x, int64_t y) { return x < y; });
}

Truth operator<=(Dim a, Dim b) {
  return compare(a, b, [](int64_t x, int64_t y) { return x <= y; });
}

Truth operator>(Dim a, Dim b) { return b < a; }

Truth operator>=(Dim a, Dim b) { return b <= a; }

}  // namespace halfstep
