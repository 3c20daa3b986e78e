// What a table of codes was made from.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace halfstep {

/// A function of reals between two kinds of codes. It is a hint: the table decides.
struct TableOrigin {
  std::string function;  ///< an operator's name
  double alpha = 0;      ///< 0 where the function has none
  float x_scale = 1.0F;
  int32_t x_zero_point = 0;
  float y_scale = 1.0F;
  int32_t y_zero_point = 0;
  bool operator==(const TableOrigin&) const = default;
};

/// By name of the operator that reads the table.
using TableOrigins = std::map<std::string, TableOrigin>;

}  // namespace halfstep
