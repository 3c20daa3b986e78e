#include "halfstep/core/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <system_error>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {
namespace {

using Path = std::filesystem::path;

std::filesystem::file_type type_of(const Path& path) {
  std::error_code ignored;  // a dangling link has no type
  return std::filesystem::status(path, ignored).type();
}

Path random_name(const Path& shown) {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) fail_to_write(shown, errno);
  return fmt::format(".halfstep-{:016x}.tmp", number);
}

/// Locks a new file or folder, so that no process mistakes it for a leftover of a killed process. Returns false if
/// another process holds the lock.
bool hold(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat open = {};
  return ::fstat(file, &open) != 0 || open.st_nlink > 0;
}

/// A new file in the folder of `target`. The destructor removes it unless it was renamed to the target.
class Temporary {
 public:
  /// Messages name the target `shown`.
  Temporary(const Path& target, const Path& shown) : target_(target), shown_(shown) {
    while (!make()) {
    }
  }
  ~Temporary() {
    if (file_ >= 0) ::close(file_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_to_write(shown_, errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  /// Closing reports errors that no other call reports (quota, network file systems). The lock stays with the open
  /// file, because no process may remove the temporary before its rename.
  void sync() {
    const int copy = ::dup(file_);
    if (copy < 0 || ::fsync(file_) != 0 || ::close(copy) != 0) fail_to_write(shown_, errno);
  }

  void take_name() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail_to_write(shown_, errno);
    path_.clear();
  }

 private:
  /// Returns false if the caller must try another name.
  bool make() {
    path_ = target_.parent_path() / random_name(shown_);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail_to_write(shown_, errno);
    if (file_ < 0) return false;
    if (hold(file_)) return true;
    ::close(std::exchange(file_, -1));
    return false;
  }

  Path target_, shown_, path_;
  int file_ = -1;
};

/// Makes the rename itself durable. Some file systems cannot sync a folder. The file is complete in either case.
void sync_folder(const Path& file) {
  const Path folder = file.parent_path();
  const int number = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return;
  ::fsync(number);
  ::close(number);
}

/// Refuses devices and pipes: the rename would replace them, given the permission.
void refuse_other_targets(const Path& path) {
  using Type = std::filesystem::file_type;
  const Type type = type_of(path);
  if (type != Type::regular && type != Type::not_found && type != Type::none)
    fail(errors::output_not_a_file(path.string(), name_of(type)));
}

}  // namespace

void write_file(const Path& path, std::span<const std::byte> bytes) { write_file(path, bytes, path); }

void write_file(const Path& path, std::span<const std::byte> bytes, const Path& shown) {
  refuse_other_targets(path);
  Temporary file(path, shown);
  file.write(bytes);
  file.sync();
  file.take_name();
  sync_folder(path);
}

void write_files(const std::vector<NewFile>& files) {
  std::list<Temporary> temporaries;
  for (const auto& [path, bytes] : files) {
    refuse_other_targets(path);
    Temporary& file = temporaries.emplace_back(path, path);
    file.write(bytes);
    file.sync();
  }
  for (Temporary& file : temporaries) file.take_name();
  for (const auto& [path, bytes] : files) sync_folder(path);
}

void write_file(const Path& path, std::string_view text) { write_file(path, std::as_bytes(std::span(text))); }

FolderBeside::FolderBeside(const Path& target) {
  while (true) {
    path_ = target.parent_path() / random_name(target);
    if (::mkdir(path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail_to_make_folder(target, errno);
    }
    lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock_ < 0 && errno != ENOENT) fail_to_make_folder(target, errno);
    if (lock_ >= 0 && hold(lock_)) return;
    if (lock_ >= 0) ::close(lock_);
  }
}

FolderBeside::~FolderBeside() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  ::close(lock_);
}

void require_file_target(const Path& path) {
  refuse_other_targets(path);
  const Temporary file(path, path);
}

void require_folder_target(const Path& path) {
  using Type = std::filesystem::file_type;
  const Type type = type_of(path);
  if (type != Type::directory && type != Type::not_found && type != Type::none)
    fail(errors::output_not_a_folder(path.string(), name_of(type)));
}

void make_folder(const Path& path) {
  require_folder_target(path);
  std::error_code reason;
  std::filesystem::create_directories(path, reason);
  if (reason) fail_to_make_folder(path, reason.value());
  const Path inside = path / "file";
  const Temporary file(inside, path);
}

}  // namespace halfstep::io
