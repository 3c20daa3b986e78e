// A file mapped into memory. Its pages are read on first access and do not count as memory of the process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace halfstep::io {

/// Pages are private: writes stay in this process. If the file is truncated while mapped, a read behind its new end
/// kills the process. This holds for every mapping.
class MappedFile {
 public:
  /// Throws bad_input with path and reason, also for anything but a regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// Opens a file that must be inside `folder` after all links are resolved. Throws as `open` does, and for a file
  /// outside.
  static std::shared_ptr<const MappedFile> open_below(const std::filesystem::path& folder,
                                                      const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Releases the unmodified pages of a part. The next access reads them from the file again.
  void forget(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  static std::shared_ptr<const MappedFile> map(int descriptor, const std::string& shown);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Returns the bytes as memory of a tensor. It keeps the file mapped.
std::shared_ptr<std::byte> memory_of(const std::shared_ptr<const MappedFile>& file, std::span<const std::byte> bytes);

}  // namespace halfstep::io
