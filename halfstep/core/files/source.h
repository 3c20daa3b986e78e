// Bytes in order, from a file or memory, through decompression where they are compressed.
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

  /// Fills `to` from its start; returns fewer bytes than asked only at the end of the data.
  virtual size_t read(std::span<std::byte> to) = 0;

  /// What messages call it: the path as the user gave it.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Bytes that can be read in any order.
class SeekableSource : public Source {
 public:
  using Source::Source;
  virtual uint64_t size() const = 0;
  /// What `read` gives next; nothing behind the end.
  virtual void seek(uint64_t to) = 0;
};

std::unique_ptr<SeekableSource> file_source(const std::filesystem::path& path);
/// The bytes must outlive the source.
std::unique_ptr<SeekableSource> memory_source(std::span<const std::byte> bytes, std::string name);

/// `inner` decompressed when it starts as gzip (RFC 1952, several members allowed), zstd (RFC 8878), xz or bzip2 does,
/// else as it is. Truncated or damaged data throws bad_input from `read`. Memory is bounded by a window of 128 MiB, of
/// xz by 1 GiB.
std::unique_ptr<Source> decompressed(std::unique_ptr<SeekableSource> inner);

}  // namespace halfstep::io
