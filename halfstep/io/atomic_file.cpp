#include "halfstep/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "halfstep/base/status.h"
#include "halfstep/io/file.h"

namespace halfstep::io {
namespace {

/// A file descriptor; -1 when it could not be opened.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }
  /// Reports errors that only closing shows (quota, network file systems).
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

/// 0, or the errno value of the step that went wrong.
int write_and_sync(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.fd() < 0 || !write_all(file.fd(), bytes) || ::fsync(file.fd()) != 0 || !file.close()) return errno;
  return 0;
}

/// Makes the rename itself last. Some file systems cannot sync a folder; the file is whole either way.
void sync_folder(const std::filesystem::path& file) {
  const auto folder = file.parent_path();
  const Descriptor descriptor(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (descriptor.fd() >= 0) ::fsync(descriptor.fd());
}

}  // namespace

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::path temporary = path;
  temporary += kTemporarySuffix;
  int reason = write_and_sync(temporary, bytes);
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail("{}: cannot be written: {}", path.string(), system_reason(reason));
  }
  sync_folder(path);
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

int remove_temporaries(const std::filesystem::path& folder) {
  std::error_code no_folder;
  int removed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, no_folder)) {
    if (entry.path().extension() != kTemporarySuffix || !entry.is_regular_file()) continue;
    std::error_code reason;
    std::filesystem::remove(entry.path(), reason);
    if (reason) fail("{}: cannot be removed: {}", entry.path().string(), system_reason(reason.value()));
    ++removed;
  }
  return removed;
}

}  // namespace halfstep::io
