// Conversion of an integer program's codes to real values, for display. The program computes without it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace halfstep {

/// real = (code - zero_point) * scale, with codes from code_min to code_max.
struct ValueCodes {
  float scale = 1.0F;
  int64_t zero_point = 0, code_min = 0, code_max = 255;
  bool operator==(const ValueCodes&) const = default;
};

/// Formats by name of the value. Empty for programs of early versions.
using CodeFormats = std::map<std::string, ValueCodes>;

}  // namespace halfstep
