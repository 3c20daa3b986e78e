// A second device in host memory, to test placement, transfers and ordering on machines without an accelerator.
//
// Every allocation is mapped twice: addresses that nobody may touch, which are handed out, and memory behind them,
// which only this device reaches while it copies or runs a kernel. Touching a handed-out address from the host is a
// segmentation fault.
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
    size_t bytes;         ///< as asked for
    size_t mapped;        ///< whole pages of handed-out addresses
    std::byte* contents;  ///< what lies behind them
  };
  /// The memory behind `address`; nullptr when not all `bytes` from there are in one allocation.
  std::byte* behind(const void* address, size_t bytes) const;
  /// Replaces an address by the memory behind it; what is absent stays absent.
  template <class Void>
  Status translate(kernels::BasicView<Void>& view) const;
  Status translate(std::byte*& scratch) const;

  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, Allocation, std::less<>> allocations_;  ///< by the first address handed out
};

}  // namespace halfstep::runtime
