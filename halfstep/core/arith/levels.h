// Levels with non-uniform spacing. docs/arithmetic.md, section 2.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/core/base/host_device.h"

namespace halfstep::arith {

/// Kinds of non-uniform levels.
enum class LevelKind {
  logarithmic,  ///< powers of 2^(1/16) (HiSilicon's NNIE)
  powers        ///< sums of powers of two (APoT; Li et al., ICLR 2020)
};

constexpr std::optional<LevelKind> parse_levels(std::string_view text) {
  if (text == "logarithmic") return LevelKind::logarithmic;
  if (text == "powers") return LevelKind::powers;
  return std::nullopt;
}

/// The sums of one entry from each of n = ceil(bits / 2) terms, ascending, in units of the smallest power. Term i has
/// the entries 0, 2^-i, 2^-(i + n) and 2^-(i + 2n). For an odd number of bits, the last term has only 0 and 2^-i.
struct PowerSums {
  int count = 0;
  int32_t at[256] = {};
  HS_HOST_DEVICE int32_t top() const { return at[count - 1]; }
};
/// `bits` is 1 to 8.
PowerSums power_sums(int bits);

/// Returns round(16 log2 x) for x > 0. Ties cannot occur, because the powers at half-way points are irrational.
HS_HOST_DEVICE inline int sixteenths(double x) {
  constexpr double kBetween[16] = {1.0218971486541166, 1.0671404006768237, 1.1143867425958924, 1.1637248587775775,
                                   1.2152473599804690, 1.2690509571917332, 1.3252366431597413, 1.3839098819638320,
                                   1.4451808069770467, 1.5091644275934228, 1.5759808451078865, 1.6457554781539649,
                                   1.7186192981224779, 1.7947090750031072, 1.8741676341103000, 1.9571441241754002};
  int exponent = 0;
  const double mantissa = 2.0 * std::frexp(x, &exponent);  // 1 to 2
  int passed = 0;
  for (const double between : kBetween) passed += mantissa > between ? 1 : 0;
  return 16 * (exponent - 1) + passed;
}

/// 2^(n / 16).
HS_HOST_DEVICE inline double power_of_sixteenths(int n) {
  constexpr double kRoots[16] = {1.0,
                                 1.0442737824274138,
                                 1.0905077326652577,
                                 1.1387886347566916,
                                 1.1892071150027210,
                                 1.2418578120734840,
                                 1.2968395546510096,
                                 1.3542555469368927,
                                 1.4142135623730951,
                                 1.4768261459394993,
                                 1.5422108254079407,
                                 1.6104903319492543,
                                 1.6817928305074290,
                                 1.7562521603732995,
                                 1.8340080864093424,
                                 1.9152065613971474};
  return std::ldexp(kRoots[n & 15], n >> 4);
}

/// The levels of a code range. The scale sets their representable range.
class Levels {
 public:
  Levels(LevelKind kind, int32_t code_min, int32_t code_max);

  /// Returns the magnitude of the outermost code.
  HS_HOST_DEVICE double end(float scale, int32_t zero_point) const {
    const double range = zero_point == 0 && code_min_ < 0 ? (static_cast<double>(code_max_) - code_min_) / 2.0
                                                          : std::fmax(static_cast<double>(code_max_) - zero_point,
                                                                      static_cast<double>(zero_point) - code_min_);
    return range * static_cast<double>(scale);
  }
  HS_HOST_DEVICE bool is_signed(int32_t zero_point) const { return zero_point > code_min_; }

  /// Returns the level nearest to x. A tie goes to the level nearer to 0, and NaN becomes 0.
  HS_HOST_DEVICE float nearest(float x, float scale, int32_t zero_point) const {
    const double c = end(scale, zero_point);
    if (!(c > 0.0) || x != x) return 0.0F;
    return kind_ == LevelKind::powers ? nearest_sum(x, c, is_signed(zero_point)) : nearest_power(x, c);
  }

  /// Whether the straight-through gradient passes.
  HS_HOST_DEVICE bool passes_gradient(float x, float scale, int32_t zero_point) const {
    if (kind_ == LevelKind::logarithmic) return x == x;
    const double c = end(scale, zero_point);
    return x >= (is_signed(zero_point) ? -c : 0.0) && x <= c;
  }

  /// Gradient of the level with respect to the scale. x must not be NaN.
  HS_HOST_DEVICE double scale_slope(float x, float scale, int32_t zero_point) const {
    if (kind_ == LevelKind::logarithmic) return 0.0;
    const double level = nearest(x, scale, zero_point);
    const double inside = passes_gradient(x, scale, zero_point) ? static_cast<double>(x) : 0.0;
    return (level - inside) / static_cast<double>(scale);
  }

 private:
  HS_HOST_DEVICE float nearest_sum(float x, double c, bool is_signed) const {
    if (!is_signed && x <= 0.0F) return 0.0F;
    const PowerSums& sums = is_signed ? signed_ : unsigned_;
    const double steps = std::fabs(static_cast<double>(x)) / c * sums.top();
    int low = 0, high = sums.count - 1;  // binary search for the last sum <= steps
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      (sums.at[middle] <= steps ? low : high) = sums.at[middle] <= steps ? middle : middle - 1;
    }
    if (low + 1 < sums.count && sums.at[low + 1] - steps < steps - sums.at[low]) ++low;
    const auto level = static_cast<float>(c * sums.at[low] / sums.top());
    return x < 0.0F ? -level : level;
  }

  HS_HOST_DEVICE static float nearest_power(float x, double c) {
    constexpr int kSteps = 127;
    const int z = sixteenths(c) - kSteps;
    const double magnitude = std::fabs(static_cast<double>(x));
    const int least = x < 0.0F ? 1 : 0;
    if (!(magnitude > power_of_sixteenths(z - 16 + least))) return 0.0F;
    const int step = std::isinf(magnitude) ? kSteps : sixteenths(magnitude) - z;
    const auto level = static_cast<float>(power_of_sixteenths(z + (step < least    ? least
                                                                   : step > kSteps ? kSteps
                                                                                   : step)));
    return x < 0.0F ? -level : level;
  }

  LevelKind kind_;
  int32_t code_min_, code_max_;
  PowerSums signed_, unsigned_;
};

}  // namespace halfstep::arith
