// Functions shared by the build's generators. They do not link the library.
#pragma once

#include <string>
#include <vector>

namespace halfstep::buildgen {

/// Writes a file and creates its folders. Leaves a file with the same contents untouched, so that nothing is
/// recompiled. Throws std::runtime_error if it cannot be written.
void write(const std::string& path, const std::string& text);

/// Returns a C++ string literal.
std::string quoted(const std::string& text);

/// Splits text into lines of at most `width` characters.
std::vector<std::string> wrapped(const std::string& text, size_t width);

/// Capitalizes the first letter and adds a full stop. A word whose second character is not a lower-case letter stays
/// unchanged.
std::string sentence(const std::string& text);

}  // namespace halfstep::buildgen
