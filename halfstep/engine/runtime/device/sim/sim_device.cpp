#include "halfstep/engine/runtime/device/sim/sim_device.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/runtime/errors.h"

namespace halfstep::runtime {
namespace {

Status foreign(const void* address, size_t bytes) {
  return Status(errors::foreign_device_memory(bytes, fmt::format("{}", address), "sim"));
}

}  // namespace

SimDevice::~SimDevice() {
  for (const auto& [address, allocation] : allocations_) {
    munmap(const_cast<std::byte*>(address), allocation.mapped);
    std::free(allocation.contents);
  }
}

std::byte* SimDevice::allocate(size_t bytes) {
  const size_t least = std::max<size_t>(bytes, 1);
  const size_t padded = aligned(least);
  const size_t mapped = round_up(least, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  void* addresses = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) throw std::bad_alloc();
  auto* contents = static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded));
  if (contents == nullptr) {
    munmap(addresses, mapped);
    throw std::bad_alloc();
  }
  std::memset(contents, 0, padded);
  const std::unique_lock lock(mutex_);
  allocations_.emplace(static_cast<std::byte*>(addresses), Allocation{bytes, mapped, contents});
  return static_cast<std::byte*>(addresses);
}

void SimDevice::free(std::byte* memory) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return;
  munmap(memory, found->second.mapped);
  std::free(found->second.contents);
  allocations_.erase(found);
}

std::byte* SimDevice::behind(const void* address, size_t bytes) const {
  const auto* wanted = static_cast<const std::byte*>(address);
  const std::shared_lock lock(mutex_);
  auto found = allocations_.upper_bound(wanted);
  if (found == allocations_.begin()) return nullptr;
  --found;
  const auto offset = static_cast<size_t>(wanted - found->first);
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) return nullptr;
  return found->second.contents + offset;
}

Status SimDevice::upload(std::byte* to, const std::byte* from_host, size_t bytes) {
  std::byte* memory = behind(to, bytes);
  if (memory == nullptr) return foreign(to, bytes);
  std::copy_n(from_host, bytes, memory);
  return {};
}

Status SimDevice::download(std::byte* to_host, const std::byte* from, size_t bytes) {
  const std::byte* memory = behind(from, bytes);
  if (memory == nullptr) return foreign(from, bytes);
  std::copy_n(memory, bytes, to_host);
  return {};
}

Status SimDevice::copy(std::byte* to, const std::byte* from, size_t bytes) {
  std::byte* memory = behind(to, bytes);
  if (memory == nullptr) return foreign(to, bytes);
  return download(memory, from, bytes);
}

template <class Void>
Status SimDevice::translate(kernels::BasicView<Void>& view) const {
  if (!view.present()) return {};
  const void* address = view.data;
  const size_t bytes = static_cast<size_t>(view.size()) * size_of(view.dtype);
  view.data = behind(address, bytes);
  return view.present() ? Status() : foreign(address, bytes);
}

Status SimDevice::translate(std::byte*& scratch) const {
  if (scratch == nullptr) return {};
  const void* address = scratch;
  scratch = behind(address, 1);
  return scratch != nullptr ? Status() : foreign(address, 1);
}

Status SimDevice::launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) {
  // The buffers persist between launches, so that a launch allocates nothing once a thread has seen its largest call.
  thread_local std::vector<kernels::ConstView> in;
  thread_local std::vector<kernels::View> out;
  in.assign(call.in.begin(), call.in.end());
  out.assign(call.out.begin(), call.out.end());
  kernels::Call inside{call.state, in, out, call.scratch, call.worker_scratch};
  Status status;
  for (size_t i = 0; status.ok() && i < in.size(); ++i) status = translate(in[i]);
  for (size_t i = 0; status.ok() && i < out.size(); ++i) status = translate(out[i]);
  if (status.ok()) status = translate(inside.scratch);
  if (status.ok()) status = translate(inside.worker_scratch);
  return status.ok() ? kernel.run(inside, phase, piece) : status;
}

}  // namespace halfstep::runtime
