// A second device in host memory. It tests placement, transfers and ordering on machines without an accelerator.
//
// Every allocation is mapped twice. The returned addresses are inaccessible. The memory behind them is reachable only
// by this device, while it copies or runs a kernel. If the host touches a returned address, it causes a segmentation
// fault.
#pragma once

#include <functional>
#include <map>
#include <shared_mutex>

#include "halfstep/engine/runtime/device.h"

namespace halfstep::runtime {

class SimDevice final : public Device {
 public:
  SimDevice() = default;
  ~SimDevice() override;
  SimDevice(const SimDevice&) = delete;
  SimDevice& operator=(const SimDevice&) = delete;

  Place place() const override { return {DeviceKind::sim, 0}; }
  bool is_host() const override { return false; }
  std::byte* allocate(size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  Status upload(std::byte* to, const std::byte* from_host, size_t bytes) override;
  Status download(std::byte* to_host, const std::byte* from, size_t bytes) override;
  Status copy(std::byte* to, const std::byte* from, size_t bytes) override;
  Status launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) override;

 private:
  struct Allocation {
    size_t bytes;         ///< requested size
    size_t mapped;        ///< size of the whole pages that are mapped
    std::byte* contents;  ///< memory behind the returned addresses
  };
  /// The memory behind `address`. nullptr if the `bytes` from there are not all in one allocation.
  std::byte* behind(const void* address, size_t bytes) const;
  /// Replaces an address by the memory behind it. A null address stays null.
  template <class Void>
  Status translate(kernels::BasicView<Void>& view) const;
  Status translate(std::byte*& scratch) const;

  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, Allocation, std::less<>> allocations_;  ///< key: first returned address
};

}  // namespace halfstep::runtime
