// What the generators of the build share. It links nothing of the library.
#pragma once

#include <string>
#include <vector>

namespace halfstep::buildgen {

/// Writes a file, with its folders. A file that would not change is left alone, so that nothing is compiled for it.
/// Throws std::runtime_error where it cannot be written.
void write(const std::string& path, const std::string& text);

/// As a string literal of C++.
std::string quoted(const std::string& text);

/// Lines of at most `width` characters.
std::vector<std::string> wrapped(const std::string& text, size_t width);

/// With a capital at its beginning and a full stop at its end. Words that begin in capitals or with a sign stay.
std::string sentence(const std::string& text);

}  // namespace halfstep::buildgen
