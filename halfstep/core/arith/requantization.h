// The forms of requantization that a platform can name. docs/arithmetic.md, section 4.
#pragma once

#include <optional>
#include <string_view>

namespace halfstep::arith {

/// fbgemm and x86 are those of PyTorch's engines.
enum class Requantization { fixed_point, power_of_two, float32, fbgemm, x86 };

/// What sets a form apart from the others.
struct RequantizationTraits {
  std::string_view name;
  bool keeps_scales = false;   ///< a program has scales in place of multipliers and shifts
  bool is_engine = false;      ///< PyTorch's: biases stay real numbers
  bool powers_of_two = false;  ///< factors are nothing else
  bool adds_reals = false;     ///< in windows that are not the image
};

/// By Requantization.
inline constexpr RequantizationTraits kRequantizations[] = {
    {.name = "fixed_point"},
    {.name = "power_of_two", .powers_of_two = true},
    {.name = "float32", .keeps_scales = true, .adds_reals = true},
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
