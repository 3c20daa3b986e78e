#include "halfstep/tune/repair/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/file.h"
#include "halfstep/tune/repair/errors.h"

namespace halfstep::repair {
namespace {

/// Maps a new file of this size. Reserves its disk space first, so that writing to its pages cannot fail.
std::byte* mapped_file(const std::filesystem::path& path, size_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) io::fail_to_write(path, errno);
  const int reason = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  void* pages = reason == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int mapping_reason = errno;
  ::close(descriptor);
  ::unlink(path.c_str());
  if (pages == MAP_FAILED)
    fail(errors::no_room_for_values(path.parent_path().string(), bytes >> 20,
                                    io::system_reason(reason != 0 ? reason : mapping_reason)));
  return static_cast<std::byte*>(pages);
}

}  // namespace

Store::~Store() {
  const size_t bytes = bytes_ * static_cast<size_t>(count_);
  if (memory_)
    room_.left_ += bytes;
  else if (data_ != nullptr)
    ::munmap(data_, bytes);
}

void Store::reserve(int64_t samples, const Tensor& values) {
  each_ = values.type();
  if (each_.dims.empty() || samples == 0 || each_.dims[0] % samples != 0)
    fail(errors::values_without_sample_axis(to_string(each_), samples));
  each_.dims[0] /= samples;
  bytes_ = values.bytes() / static_cast<size_t>(samples);
  const size_t bytes = bytes_ * static_cast<size_t>(count_);
  if (bytes == 0) return;
  if (bytes <= room_.left_) {
    room_.left_ -= bytes;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    data_ = memory_.get();
    return;
  }
  if (!room_.folder_) room_.folder_.emplace();
  data_ = mapped_file(*room_.folder_ / std::to_string(room_.files_++), bytes);
}

void Store::put(int64_t begin, int64_t samples, const Tensor& values) {
  if (bytes_ == 0) reserve(samples, values);
  HS_CHECK(values.bytes() == bytes_ * static_cast<size_t>(samples) && begin + samples <= count_);
  if (data_ != nullptr) std::memcpy(data_ + static_cast<size_t>(begin) * bytes_, values.raw(), values.bytes());
}

Tensor Store::empty(int64_t samples) const {
  Dims dims = each_.dims;
  dims[0] *= samples;
  return Tensor::uninitialized(each_.dtype, dims);
}

Tensor Store::rows(std::span<const int64_t> samples) const {
  Tensor rows = empty(std::ssize(samples));
  for (size_t i = 0; i < samples.size() && data_ != nullptr; ++i)
    std::memcpy(rows.raw() + i * bytes_, data_ + static_cast<size_t>(samples[i]) * bytes_, bytes_);
  return rows;
}

Tensor Store::rows(int64_t begin, int64_t end) const {
  Tensor rows = empty(end - begin);
  if (data_ != nullptr) std::memcpy(rows.raw(), data_ + static_cast<size_t>(begin) * bytes_, rows.bytes());
  return rows;
}

}  // namespace halfstep::repair
