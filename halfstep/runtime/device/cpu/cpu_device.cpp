#include "halfstep/runtime/device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "halfstep/base/tensor.h"

namespace halfstep::runtime {

std::byte* CpuDevice::allocate(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : kAlignment;
  const size_t padded = (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, padded));
  if (memory == nullptr) throw std::bad_alloc();
  // Arenas live long and are walked over in wide steps; advice: without it the memory works as well.
  if (huge) madvise(memory, padded, MADV_HUGEPAGE);
  std::memset(memory, 0, padded);
  return memory;
}

void CpuDevice::free(std::byte* memory) noexcept { std::free(memory); }

Status CpuDevice::copy(std::byte* to, const std::byte* from, size_t bytes) {
  std::copy_n(from, bytes, to);
  return {};
}

Status CpuDevice::upload(std::byte* to, const std::byte* from_host, size_t bytes) { return copy(to, from_host, bytes); }
Status CpuDevice::download(std::byte* to_host, const std::byte* from, size_t bytes) {
  return copy(to_host, from, bytes);
}

Status CpuDevice::launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) {
  return kernel.run(call, phase, piece);
}

}  // namespace halfstep::runtime
