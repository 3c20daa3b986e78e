#include "halfstep/core/files/claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHidden = ".halfstep-";

/// Whether `path` still refers to the open file.
bool is_there(int file, const fs::path& path) {
  struct stat open = {}, named = {};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

/// Returns "process 12 (halfstep)", the process that locks the file, or "" if the system does not report it.
std::string holder_of(int file) {
  struct stat open = {};
  if (::fstat(file, &open) != 0) return "";
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(open.st_dev), minor(open.st_dev), open.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, where;
    words >> number >> kind >> advisory >> access >> process >> where;
    if (kind != "FLOCK" || where != place) continue;
    std::string name;
    std::getline(std::ifstream("/proc/" + process + "/comm"), name);
    return fmt::format("process {}{}", process, name.empty() ? "" : fmt::format(" ({})", name));
  }
  return "";
}

/// Locks the file of `path`. Tries several times, because remove_abandoned in another process locks it briefly.
void lock(int file, const fs::path& path) {
  constexpr int kTries = 20;
  std::string holder = "another process";
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    if (const std::string found = holder_of(file); !found.empty()) holder = found;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::close(file);
  fail(errors::output_in_use(path.string(), holder));
}

/// Removes temporaries and claims that no process holds.
void remove_abandoned(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const fs::path path = at->path();
    const std::string ending = path.extension().string();
    if (!path.filename().string().starts_with(kHidden) || (ending != ".tmp" && ending != ".claim")) continue;
    const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    std::error_code ignored;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 && is_there(file, path)) fs::remove_all(path, ignored);
    ::close(file);
  }
}

}  // namespace

Claim::Claim(int file, fs::path beside) : file_(file), beside_(std::move(beside)) {}

Claim::Claim(Claim&& other) noexcept
    : file_(std::exchange(other.file_, -1)), beside_(std::exchange(other.beside_, fs::path())) {}

Claim& Claim::operator=(Claim&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(beside_, other.beside_);
  return *this;
}

Claim::~Claim() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
  if (file_ >= 0) ::close(file_);
}

Claim Claim::of_folder(const fs::path& path) {
  while (true) {
    make_folder(path);
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) lock(folder, path);
    if (folder < 0 || is_there(folder, path)) {
      remove_abandoned(path);
      return {folder, {}};
    }
    ::close(folder);  // the previous holder removed it meanwhile
  }
}

Claim Claim::of_name(const fs::path& path) {
  remove_abandoned(path.parent_path());
  const fs::path beside = path.parent_path() / fmt::format("{}{}.claim", kHidden, path.filename().string());
  while (true) {
    const int file = ::open(beside.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == ENAMETOOLONG) return {-1, {}};
    if (file < 0) fail_to_write(path, errno);
    lock(file, path);
    if (is_there(file, beside)) return {file, beside};
    ::close(file);  // the previous holder removed it meanwhile
  }
}

HeldFolder::HeldFolder(fs::path path) : path_(std::move(path)) {
  if (!path_.empty()) claim_ = Claim::of_folder(path_);
}

HeldFolder::~HeldFolder() {
  std::error_code ignored;  // the folder is not empty
  if (claim_) fs::remove(path_, ignored);
}

}  // namespace halfstep::io
