// Words of C: types, numbers, arrays, names.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::c {

/// "uint8_t", "float"; types of fewer bits as they lie in memory.
std::string c_type(DType dtype);
/// "u8": part of the name of a function.
std::string tag(DType dtype);

std::string c_number(int64_t value);
/// "0.0625f": the same float32 for every compiler.
std::string c_number(float value);

/// "1, 2, 3" in lines that a person can read.
template <class T>
std::string c_numbers(std::span<const T> values);

/// Inside of double quotes, and inside of a comment.
std::string c_string(std::string_view text);
std::string c_comment(std::string_view text);

/// Whether it is a name that C leaves to programs.
bool is_c_identifier(std::string_view text);
/// The nearest to it that is one; "network" where nothing is left.
std::string to_c_identifier(std::string_view text);

/// Whether C or one of the program's own functions and types may have that name.
bool is_reserved(std::string_view name);

/// Names of one scope, which differ in more than small and capital letters.
class Identifiers {
 public:
  /// `hint` as an identifier that no other has.
  std::string unique(std::string_view hint);

 private:
  std::set<std::string> taken_;
};

}  // namespace halfstep::formats::c
