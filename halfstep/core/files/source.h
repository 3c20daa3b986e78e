// Sequential bytes from a file or memory, decompressed if needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace halfstep::io {

class Source {
 public:
  explicit Source(std::string name) : name_(std::move(name)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Fills `to` from its start. Returns fewer bytes than requested only at the end of the data.
  virtual size_t read(std::span<std::byte> to) = 0;

  /// Name for messages: the path as the user gave it.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// A source that supports random access.
class SeekableSource : public Source {
 public:
  using Source::Source;
  virtual uint64_t size() const = 0;
  /// Sets the position of the next `read`. Behind the end, `read` returns 0 bytes.
  virtual void seek(uint64_t to) = 0;
};

/// Opens a regular file. Throws Error if it cannot be read.
std::unique_ptr<SeekableSource> file_source(const std::filesystem::path& path);
/// The bytes must outlive the source.
std::unique_ptr<SeekableSource> memory_source(std::span<const std::byte> bytes, std::string name);

/// Decompresses `inner` if it starts as gzip (RFC 1952, several members allowed), zstd (RFC 8878), xz or bzip2. Passes
/// other data through. Truncated or damaged data makes `read` throw bad_input. Memory is limited to a window of 128
/// MiB, for xz to 1 GiB.
std::unique_ptr<Source> decompressed(std::unique_ptr<SeekableSource> inner);

}  // namespace halfstep::io
