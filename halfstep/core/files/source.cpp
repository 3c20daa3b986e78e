#include "halfstep/core/files/source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// O_NONBLOCK avoids waiting for the writer of a pipe. The pipe is then refused.
std::FILE* open_stream(const std::filesystem::path& path) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return number < 0 ? nullptr : ::fdopen(number, "rb");
}

class FileSource : public SeekableSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : SeekableSource(path.string()), file_(open_stream(path)) {
    if (!file_) fail(errors::cannot_be_read(name(), system_reason(errno)));
    std::error_code reason;
    const auto type = std::filesystem::status(path, reason).type();
    if (type != std::filesystem::file_type::regular) fail(errors::not_a_file(name(), name_of(type)));
  }

  size_t read(std::span<std::byte> to) override {
    const size_t got = std::fread(to.data(), 1, to.size(), file_.get());
    if (got < to.size() && std::ferror(file_.get()) != 0) fail(errors::cannot_be_read(name(), system_reason(errno)));
    return got;
  }

  uint64_t size() const override {
    struct stat status;
    if (::fstat(::fileno(file_.get()), &status) != 0) fail(errors::cannot_be_read(name(), system_reason(errno)));
    return static_cast<uint64_t>(status.st_size);
  }

  void seek(uint64_t to) override {
    if (::fseeko(file_.get(), static_cast<off_t>(to), SEEK_SET) != 0)
      fail(errors::cannot_be_read(name(), system_reason(errno)));
  }

 private:
  std::unique_ptr<std::FILE, Close> file_;
};

class MemorySource : public SeekableSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : SeekableSource(std::move(name)), all_(bytes), left_(bytes) {}

  size_t read(std::span<std::byte> to) override {
    const size_t count = std::min(to.size(), left_.size());
    std::copy_n(left_.begin(), count, to.begin());
    left_ = left_.subspan(count);
    return count;
  }

  uint64_t size() const override { return all_.size(); }

  void seek(uint64_t to) override { left_ = all_.subspan(std::min<size_t>(to, all_.size())); }

 private:
  std::span<const std::byte> all_, left_;
};

}  // namespace

std::unique_ptr<SeekableSource> file_source(const std::filesystem::path& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<SeekableSource> memory_source(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemorySource>(bytes, std::move(name));
}

}  // namespace halfstep::io
