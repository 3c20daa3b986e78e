#include "halfstep/base/system_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "halfstep/base/divide.h"
#include "halfstep/base/storage.h"

namespace halfstep {

std::byte* system_memory(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : kAlignment;
  if (bytes > SIZE_MAX - unit) throw std::bad_alloc();
  const size_t padded = round_up(bytes, unit);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, padded));
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, padded, MADV_HUGEPAGE);  // advice: without it the memory works as well
  return memory;
}

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace halfstep
