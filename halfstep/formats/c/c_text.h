// Elements of C text: types, numbers, arrays, names.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::c {

/// Returns "uint8_t" or "float". Types of fewer bits have the type of their memory.
std::string c_type(DType dtype);
/// Returns "u8", a part of function names.
std::string tag(DType dtype);

std::string c_number(int64_t value);
/// Returns "0.0625f", which every compiler reads as the same float32.
std::string c_number(float value);

/// Returns "1, 2, 3" in lines of readable length.
template <class T>
std::string c_numbers(std::span<const T> values);

/// Escape text for a string literal, and for a comment.
std::string c_string(std::string_view text);
std::string c_comment(std::string_view text);

/// Whether it is a name that C leaves to programs.
bool is_c_identifier(std::string_view text);
/// Returns the nearest identifier, or "network" if no character is left.
std::string to_c_identifier(std::string_view text);

/// Whether C or one of the program's functions and types may have that name.
bool is_reserved(std::string_view name);

/// Names of one scope, which differ in more than upper and lower case.
class Identifiers {
 public:
  /// Returns `hint` as a unique identifier.
  std::string unique(std::string_view hint);

 private:
  std::set<std::string> taken_;
};

}  // namespace halfstep::formats::c
