#include "halfstep/core/base/system_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/storage.h"

namespace halfstep {
namespace {

/// Page flags of this process, from the kernel (Documentation/admin-guide/mm/pagemap.rst of Linux).
class PageMap {
 public:
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }

  static constexpr size_t kEntries = 512;
  /// For each of at most kEntries pages from `first` on: sets `clean` if the page is in memory and holds bytes of a
  /// file. Returns false if the system does not provide the flags.
  bool read(uintptr_t first, std::span<bool> clean) const {
    constexpr uint64_t kPresent = uint64_t{1} << 63, kOfFile = uint64_t{1} << 61;
    std::array<uint64_t, kEntries> entries = {};
    const size_t bytes = clean.size() * sizeof entries[0];
    const auto from = static_cast<off_t>(first * sizeof entries[0]);
    if (file_ < 0 || pread(file_, entries.data(), bytes, from) != static_cast<ssize_t>(bytes)) return false;
    for (size_t i = 0; i < clean.size(); ++i) clean[i] = (entries[i] & kPresent) != 0 && (entries[i] & kOfFile) != 0;
    return true;
  }

 private:
  int file_;
};

}  // namespace

std::byte* system_memory(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : kAlignment;
  if (bytes > SIZE_MAX - unit) throw std::bad_alloc();
  const size_t padded = round_up(bytes, unit);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, padded));
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, padded, MADV_HUGEPAGE);  // only advice: the memory works without it
  return memory;
}

void give_back_pages(std::span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = size_t{1} << 20;
  if (bytes.size() < kLeastBytes) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = const_cast<std::byte*>(bytes.data());
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t end = (address + bytes.size()) / page;
  const PageMap map;
  std::array<bool, PageMap::kEntries> clean = {};
  for (uintptr_t first = ceil_div(address, page); first < end; first += clean.size()) {
    const std::span some(clean.data(), std::min<size_t>(clean.size(), end - first));
    if (!map.read(first, some)) return;
    for (auto at = some.begin(); at != some.end();) {
      const auto from = std::find(at, some.end(), true);
      at = std::find(from, some.end(), false);
      if (from == at) break;
      const uintptr_t begin = (first + static_cast<uintptr_t>(from - some.begin())) * page;
      madvise(memory + (begin - address), static_cast<size_t>(at - from) * page, MADV_DONTNEED);
    }
  }
}

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace halfstep
