// Reading whole files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace halfstep::io {

/// Contents of a regular file; throws bad_input with path and reason. Memory grows with what is read, not with a
/// claimed size.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

/// "a pipe": what lies at a path, for messages.
std::string_view name_of(std::filesystem::file_type type);

/// "permission denied": what `errno` value `code` means, in the style of our messages.
std::string system_reason(int code);

/// Throws cannot_be_written for `errno` value `code`.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int code);
/// Throws folder_cannot_be_made.
[[noreturn]] void fail_to_make_folder(const std::filesystem::path& path, int code);

}  // namespace halfstep::io
