#include "halfstep/verify/operators/compare_tensors.h"

#include <fmt/format.h>

#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::verify {
namespace {

bool same_bits(const Tensor& a, const Tensor& b, int64_t index) {
  const size_t bytes = size_of(a.dtype());
  const size_t offset = static_cast<size_t>(index) * bytes;
  if (std::memcmp(a.raw() + offset, b.raw() + offset, bytes) == 0) return true;
  return std::isnan(element(a, index)) && std::isnan(element(b, index));
}

bool close(double found, double expected, double allowed) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::fabs(found - expected) <= allowed;
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double magnitude = std::fabs(element(tensor, i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

}  // namespace

std::string difference(const Tensor& found, const Tensor& expected, std::optional<double> tolerance) {
  if (found.type() != expected.type())
    return fmt::format("found {}, expected {}", to_string(found.type()), to_string(expected.type()));
  const bool exact = !tolerance || (found.dtype() != DType::f32 && found.dtype() != DType::f64);
  const double allowed = exact ? 0 : *tolerance * largest_finite(expected);
  int64_t differing = 0, first = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    if (exact ? same_bits(found, expected, i) : close(element(found, i), element(expected, i), allowed)) continue;
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return {};
  return fmt::format("{} of {} elements differ, the first at {}: found {}, expected {}{}", differing, found.size(),
                     to_string(position_of(first, found.dims())), element(found, first), element(expected, first),
                     exact ? "" : fmt::format(" within {:.3g}", allowed));
}

}  // namespace halfstep::verify
