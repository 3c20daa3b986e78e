// How the codes of an integer program's values read as reals. The program computes without it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace halfstep {

/// real = (code - zero_point) * scale, codes from code_min to code_max.
struct ValueCodes {
  float scale = 1.0F;
  int64_t zero_point = 0, code_min = 0, code_max = 255;
  bool operator==(const ValueCodes&) const = default;
};

/// By name of the value; nothing of programs that early versions made.
using CodeFormats = std::map<std::string, ValueCodes>;

}  // namespace halfstep
