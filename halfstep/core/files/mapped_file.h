// A file in the address space: its pages are read when they are looked at and cost no memory of the process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace halfstep::io {

/// Private pages: what is written to them stays in this process. Shortening the file while it is mapped ends the
/// process that reads behind its end, as with every mapping.
class MappedFile {
 public:
  /// Throws bad_input with path and reason; of anything but a regular file too.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// The same for a file that must lie below `folder`, whatever links lead to it.
  static std::shared_ptr<const MappedFile> open_below(const std::filesystem::path& folder,
                                                      const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Gives the pages of a part back that nobody wrote to; whoever looks at them again reads the file again.
  void forget(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  static std::shared_ptr<const MappedFile> map(int descriptor, const std::string& shown);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// The bytes as memory of a tensor, which keeps the file mapped.
std::shared_ptr<std::byte> memory_of(const std::shared_ptr<const MappedFile>& file, std::span<const std::byte> bytes);

}  // namespace halfstep::io
