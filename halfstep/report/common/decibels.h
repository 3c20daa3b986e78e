// Signal-to-quantization-noise ratios in text and JSON.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace halfstep::report {

/// For example "12.3". "inf" without noise, "-" for NaN, a ratio that is not defined.
inline std::string decibel_text(double sqnr_db) {
  if (std::isnan(sqnr_db)) return "-";
  return std::isfinite(sqnr_db) ? fmt::format("{:.1f}", sqnr_db) : "inf";
}

/// Limits a ratio to +-200 dB, because JSON has no infinity. The 24 bits of a float are 150 dB.
inline double decibel_json(double sqnr_db) {
  constexpr double kLargest = 200.0;
  return std::clamp(sqnr_db, -kLargest, kLargest);
}

}  // namespace halfstep::report
