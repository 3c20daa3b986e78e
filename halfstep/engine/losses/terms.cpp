#include "halfstep/engine/losses/terms.h"

#include <numeric>

#include "halfstep/engine/capture/apply.h"

namespace halfstep::losses {

using capture::apply;

Array operator+(const Array& a, const Array& b) { return apply("add", {a, b}); }
Array operator-(const Array& a, const Array& b) { return apply("sub", {a, b}); }
Array operator*(const Array& a, const Array& b) { return apply("mul", {a, b}); }
Array operator/(const Array& a, const Array& b) { return apply("div", {a, b}); }
Array operator+(const Array& a, double b) { return a + number(b, a); }
Array operator-(const Array& a, double b) { return a - number(b, a); }
Array operator-(double a, const Array& b) { return number(a, b) - b; }
Array operator*(const Array& a, double b) { return a * number(b, a); }
Array operator-(const Array& a) { return unary("neg", a); }

Array number(double value, const Array& like) { return capture::full({like.dtype(), {}}, value, like.place()); }

Array unary(const char* name, const Array& x) { return apply(name, {x}); }

Array square(const Array& x) { return x * x; }

Array power(const Array& x, double exponent) { return apply("power", {x, number(exponent, x)}); }

Array is_less(const Array& a, const Array& b) { return apply("less", {a, b}); }

Array is_equal(const Array& a, double b) { return apply("equal", {a, number(b, a)}); }

Array select(const Array& condition, const Array& a, const Array& b) { return apply("select", {condition, a, b}); }

Array larger(const Array& a, const Array& b) { return select(is_less(a, b), b, a); }

Array smaller(const Array& a, const Array& b) { return select(is_less(a, b), a, b); }

Array positive_part(const Array& x) { return larger(x, number(0, x)); }

Array sum(const Array& x, const std::vector<int64_t>& axes, bool keeps) {
  return axes.empty() ? x : apply("reduce_sum", {x}, {{"axes", axes}, {"keep_dims", keeps}});
}

std::vector<int64_t> axes_from(int64_t first, const Array& x) {
  std::vector<int64_t> axes(x.dims().size() - static_cast<size_t>(first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Array reshape(const Array& x, const Dims& dims) {
  return x.dims() == dims ? x : apply("reshape", {x}, {{"dims", dims}});
}

Array cast_like(const Array& x, const Array& like) {
  return x.dtype() == like.dtype() ? x : apply("cast", {x}, {{"to", std::string(name(like.dtype()))}});
}

}  // namespace halfstep::losses
