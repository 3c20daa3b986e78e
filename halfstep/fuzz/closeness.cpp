#include "halfstep/fuzz/closeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "halfstep/core/base/element_values.h"

namespace halfstep::fuzz {
namespace {

constexpr double kRounding = 64;  // in steps of the type
constexpr double kGrowth = 8;
constexpr uint64_t kChanges = 6;

double magnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = std::abs(element(tensor, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

/// Infinite if a number is not finite, unless both are equal or NaN.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  return std::abs(a - b);
}

struct Worst {
  int64_t index = 0;
  double distance = 0;
};

Worst worst_of(const Tensor& a, const Tensor& b) {
  Worst worst;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double d = distance(element(a, i), element(b, i));
    if (d > worst.distance) worst = {i, d};
  }
  return worst;
}

std::string compare_types(const Tensors& found, const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    const auto at = found.find(name);
    if (at == found.end()) return fmt::format("output '{}' is missing", name);
    if (at->second.type() != tensor.type())
      return fmt::format("output '{}' is {}, expected {}", name, to_string(at->second.type()),
                         to_string(tensor.type()));
  }
  return "";
}

}  // namespace

double step_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::exp2(-40);  // runtimes compute some f64 functions with f32 tables
    case DType::f16: return std::exp2(-10);
    case DType::bf16: return std::exp2(-7);
    case DType::f32: return std::exp2(-23);
    default: return 0;
  }
}

std::string difference(const Tensors& found, const Tensors& expected, const Perturbed& perturbed) {
  if (std::string types = compare_types(found, expected); !types.empty()) return types;
  std::vector<Tensors> changed;
  for (const auto& [name, wanted] : expected) {
    const Tensor& tensor = found.at(name);
    const Worst worst = worst_of(tensor, wanted);
    const double bound = kRounding * step_of(wanted.dtype()) * magnitude(wanted);
    if (worst.distance <= bound) continue;
    if (changed.empty()) {
      changed.push_back(perturbed(0));
      for (uint64_t change = 1; change <= kChanges; ++change) changed.push_back(perturbed(change));
    }
    double grown = 0;
    for (size_t i = 1; i < changed.size(); ++i)
      grown = std::max(grown, worst_of(changed[i].at(name), changed[0].at(name)).distance);
    if (worst.distance <= bound + kGrowth * grown) continue;
    return fmt::format("output '{}' {}: element {} is {}, expected {}; rounding explains {}", name,
                       to_string(wanted.type()), worst.index, element(tensor, worst.index),
                       element(wanted, worst.index), bound + kGrowth * grown);
  }
  return "";
}

}  // namespace halfstep::fuzz
