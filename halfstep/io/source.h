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

std::unique_ptr<Source> file_source(const std::filesystem::path& path);
/// The bytes must outlive the source.
std::unique_ptr<Source> memory_source(std::span<const std::byte> bytes, std::string name);

/// `inner` decompressed when it starts as gzip (RFC 1952, several members allowed) or zstd (RFC 8878) does, else as it
/// is. Truncated or damaged data throws bad_input from `read`. Memory is bounded by a window of 128 MiB.
std::unique_ptr<Source> decompressed(std::unique_ptr<Source> inner);

}  // namespace halfstep::io
