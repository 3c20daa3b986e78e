// What a table of codes was made from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace halfstep {

/// A function of reals between two kinds of codes. It travels in a Model's notes, so it is a hint: the table decides.
struct TableOrigin {
  std::string function;  ///< an operator's name
  double alpha = 0;      ///< 0 where the function has none
  float x_scale = 1.0F;
  int32_t x_zero_point = 0;
  float y_scale = 1.0F;
  int32_t y_zero_point = 0;
};

using Notes = std::map<std::string, std::string>;

/// Notes what the table of the operator `name` was made from.
void set_table_origin(Notes& notes, const std::string& name, const TableOrigin& origin);
/// What the table of the operator `name` was made from; nothing where no note says it.
std::optional<TableOrigin> table_origin(const Notes& notes, const std::string& name);

}  // namespace halfstep
