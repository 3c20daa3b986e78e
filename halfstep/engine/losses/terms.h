// Arithmetic on arrays, for formulas of losses. Each function applies one operator. Numbers take the type of the array.
#pragma once

#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::losses {

using capture::Array;
using capture::Arrays;

Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator+(const Array& a, double b);
Array operator-(const Array& a, double b);
Array operator-(double a, const Array& b);
Array operator*(const Array& a, double b);
Array operator-(const Array& a);

/// An array [] with this number, of the element type and on the device of `like`.
Array number(double value, const Array& like);
/// An operator of one operand, by name.
Array unary(const char* name, const Array& x);
Array square(const Array& x);
/// x to a constant power.
Array power(const Array& x, double exponent);
Array is_less(const Array& a, const Array& b);
Array is_equal(const Array& a, double b);
/// a where the condition is true, else b.
Array select(const Array& condition, const Array& a, const Array& b);
Array larger(const Array& a, const Array& b);
Array smaller(const Array& a, const Array& b);
/// max(x, 0).
Array positive_part(const Array& x);
/// The sum over axes, which are removed, or kept with extent 1.
Array sum(const Array& x, const std::vector<int64_t>& axes, bool keeps = false);
/// Positions of all axes from this one on.
std::vector<int64_t> axes_from(int64_t first, const Array& x);
Array reshape(const Array& x, const Dims& dims);
/// x converted to the element type of `like`.
Array cast_like(const Array& x, const Array& like);

}  // namespace halfstep::losses
