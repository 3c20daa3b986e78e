// Origin of a lookup table of codes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace halfstep {

/// The real function that a table approximates, between two code formats. Only a hint: the table determines the result.
struct TableOrigin {
  std::string function;  ///< name of an operator
  double alpha = 0;      ///< 0 if the function has no alpha
  float x_scale = 1.0F;
  int32_t x_zero_point = 0;
  float y_scale = 1.0F;
  int32_t y_zero_point = 0;
  bool operator==(const TableOrigin&) const = default;
};

/// Origins by name of the operator that reads the table.
using TableOrigins = std::map<std::string, TableOrigin>;

}  // namespace halfstep
