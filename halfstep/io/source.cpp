#include "halfstep/io/source.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "halfstep/base/status.h"
#include "halfstep/io/file.h"

namespace halfstep::io {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class FileSource : public Source {
 public:
  explicit FileSource(const std::filesystem::path& path)
      : Source(path.string()), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) fail("{}: {}", name(), system_reason(errno));
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) fail("{}: found a folder, expected a file", name());
  }

  size_t read(std::span<std::byte> to) override {
    const size_t got = std::fread(to.data(), 1, to.size(), file_.get());
    if (got < to.size() && std::ferror(file_.get()) != 0) fail("{}: {}", name(), system_reason(errno));
    return got;
  }

 private:
  std::unique_ptr<std::FILE, Close> file_;
};

class MemorySource : public Source {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name) : Source(std::move(name)), left_(bytes) {}

  size_t read(std::span<std::byte> to) override {
    const size_t count = std::min(to.size(), left_.size());
    std::copy_n(left_.begin(), count, to.begin());
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace

std::unique_ptr<Source> file_source(const std::filesystem::path& path) { return std::make_unique<FileSource>(path); }

std::unique_ptr<Source> memory_source(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemorySource>(bytes, std::move(name));
}

}  // namespace halfstep::io
