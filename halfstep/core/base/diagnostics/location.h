// Source location of an operation or a record.
#pragma once

#include <string>

namespace halfstep {

/// A position in a file.
struct Location {
  std::string file;  ///< base name or the path as the user gave it; empty when unknown
  int line = 0;
};

/// Returns "digits.ir:12", or "" when unknown.
std::string to_string(const Location& location);

}  // namespace halfstep
