// Forms of requantization that a platform can select. docs/arithmetic.md, section 4.
#pragma once

#include <optional>
#include <string_view>

namespace halfstep::arith {

/// fbgemm and x86 are PyTorch's engines.
enum class Requantization { fixed_point, power_of_two, float32, fbgemm, x86 };

/// Properties of a form of requantization.
struct RequantizationTraits {
  std::string_view name;
  bool keeps_scales = false;   ///< programs store scales instead of multipliers and shifts
  bool is_engine = false;      ///< one of PyTorch's engines, where biases stay real values
  bool powers_of_two = false;  ///< all factors are powers of two
  bool adds_floats = false;    ///< average pooling adds real values, unless the window covers the whole image
};

/// Traits, indexed by Requantization.
inline constexpr RequantizationTraits kRequantizations[] = {
    {.name = "fixed_point"},
    {.name = "power_of_two", .powers_of_two = true},
    {.name = "float32", .keeps_scales = true, .adds_floats = true},
    {.name = "fbgemm", .keeps_scales = true, .is_engine = true},
    {.name = "x86", .keeps_scales = true, .is_engine = true}};

constexpr const RequantizationTraits& traits(Requantization form) { return kRequantizations[static_cast<int>(form)]; }

constexpr std::optional<Requantization> parse_requantization(std::string_view text) {
  for (const auto& form : kRequantizations) {
    if (form.name == text) return static_cast<Requantization>(&form - kRequantizations);
  }
  return std::nullopt;
}

}  // namespace halfstep::arith
