#include "halfstep/core/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::io {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// O_NONBLOCK avoids waiting for the writer of a pipe. The pipe is then refused.
int open_for_reading(const std::filesystem::path& path) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) fail(errors::cannot_be_read(path.string(), system_reason(errno)));
  return number;
}

/// Resolved location of an open file.
std::filesystem::path location_of(const Descriptor& file, const std::string& shown) {
  std::error_code failed;
  auto place = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.number()), failed);
  if (failed) fail(errors::cannot_be_read(shown, system_reason(failed.value())));
  return place;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::map(int descriptor, const std::string& shown) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(errors::cannot_be_read(shown, system_reason(errno)));
  if (!S_ISREG(status.st_mode))
    fail(errors::not_a_file(shown, S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device"));
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<size_t>(status.st_size);
  if (file->size_ == 0) return file;
  void* data = ::mmap(nullptr, file->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
  if (data == MAP_FAILED) {
    file->size_ = 0;
    fail(errors::cannot_be_read(shown, system_reason(errno)));
  }
  file->data_ = static_cast<std::byte*>(data);
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor descriptor(open_for_reading(path));
  return map(descriptor.number(), path.string());
}

std::shared_ptr<const MappedFile> MappedFile::open_below(const std::filesystem::path& folder,
                                                         const std::filesystem::path& path) {
  const std::filesystem::path whole = folder / path;
  const Descriptor descriptor(open_for_reading(whole));
  const auto inside = location_of(descriptor, whole.string()).lexically_relative(std::filesystem::canonical(folder));
  if (inside.empty() || *inside.begin() == "..") fail(errors::outside_of_folder(whole.string(), folder.string()));
  return map(descriptor.number(), whole.string());
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void MappedFile::forget(std::span<const std::byte> part) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<size_t>(part.data() - data_);
  const size_t begin = offset / page * page, end = offset + part.size();
  // only advice: correctness does not depend on it
  if (end > begin) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

std::shared_ptr<std::byte> memory_of(const std::shared_ptr<const MappedFile>& file, std::span<const std::byte> bytes) {
  return {file, const_cast<std::byte*>(bytes.data())};  // safe, because the pages are private
}

}  // namespace halfstep::io
