// Reading whole files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace halfstep::io {

/// Returns the contents of a regular file. Throws bad_input with path and reason. Memory grows with the bytes read, not
/// with a claimed size.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

/// Returns a file type for messages, such as "a pipe".
std::string_view name_of(std::filesystem::file_type type);

/// Returns the reason for errno value `code` in the style of our messages: "permission denied".
std::string system_reason(int code);

/// Throws cannot_be_written for `errno` value `code`.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int code);
/// Throws folder_cannot_be_made.
[[noreturn]] void fail_to_make_folder(const std::filesystem::path& path, int code);

}  // namespace halfstep::io
