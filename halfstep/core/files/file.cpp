#include "halfstep/core/files/file.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/source.h"

namespace halfstep::io {
namespace {

/// Returns the remedy for a failed write with errno value `code`.
const char* remedy_for(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS: return "choose a writable folder, or change its permissions";
    case ENOSPC:
    case EDQUOT: return "free disk space, or choose a folder on another disk";
    case ENOENT: return "create its folder, or choose another";
    default: return "choose another path";
  }
}

}  // namespace

std::string system_reason(int code) {
  std::string text = std::generic_category().message(code);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

void fail_to_write(const std::filesystem::path& path, int code) {
  fail(errors::cannot_be_written(path.string(), system_reason(code), remedy_for(code)));
}

void fail_to_make_folder(const std::filesystem::path& path, int code) {
  fail(errors::folder_cannot_be_made(path.string(), system_reason(code), remedy_for(code)));
}

std::string_view name_of(std::filesystem::file_type type) {
  using Type = std::filesystem::file_type;
  switch (type) {
    case Type::regular: return "a file";
    case Type::directory: return "a folder";
    case Type::symlink: return "a link";
    case Type::fifo: return "a pipe";
    case Type::socket: return "a socket";
    case Type::block:
    case Type::character: return "a device";
    default: return "nothing";
  }
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  constexpr size_t kChunk = size_t{1} << 20;
  const auto source = file_source(path);
  std::error_code unknown_size;
  const uintmax_t size = std::filesystem::file_size(path, unknown_size);
  std::vector<std::byte> bytes;
  if (!unknown_size) bytes.reserve(size + 1);
  size_t got = kChunk;
  while (got == kChunk) {
    const size_t end = bytes.size();
    bytes.resize(end + kChunk);
    got = source->read(std::span(bytes).subspan(end));
    bytes.resize(end + got);
  }
  return bytes;
}

std::string read_text_file(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace halfstep::io
