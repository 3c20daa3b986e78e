#include "halfstep/engine/runtime/device/cpu/cpu_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "halfstep/core/base/system_memory.h"

namespace halfstep::runtime {

std::byte* CpuDevice::allocate(size_t bytes) {
  const size_t size = std::max<size_t>(bytes, 1);
  std::byte* memory = system_memory(size);
  std::memset(memory, 0, size);
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
