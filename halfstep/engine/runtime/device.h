// A device: memory with its own addresses, copies to and from the host, and kernel launches.
#pragma once

#include <cstddef>

#include "halfstep/core/base/place.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::runtime {

/// Only this device may read or write through addresses that `allocate` returns. Calls are synchronous: their effects
/// are complete when they return. Any thread may call.
class Device {
 public:
  virtual ~Device() = default;

  virtual Place place() const = 0;
  /// True if its addresses are host addresses, so that a Tensor is device memory too.
  virtual bool is_host() const = 0;

  /// Zero-filled, aligned to kAlignment; `bytes` may be 0. Throws std::bad_alloc.
  virtual std::byte* allocate(size_t bytes) = 0;
  virtual void free(std::byte* memory) noexcept = 0;

  /// Copies `bytes` from the host to this device, to the host, or within this device. The Status reports addresses that
  /// do not belong to this device.
  virtual Status upload(std::byte* to, const std::byte* from_host, size_t bytes) = 0;
  virtual Status download(std::byte* to_host, const std::byte* from, size_t bytes) = 0;
  virtual Status copy(std::byte* to, const std::byte* from, size_t bytes) = 0;

  /// Runs one piece of a kernel. All addresses in `call` belong to this device, except `state`, which belongs to the
  /// kernel.
  virtual Status launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) = 0;
};

/// The device at `place`. Throws (unsupported) when this build or machine has none. Lives as long as the process.
Device& device_at(Place place);

/// Copies between the host and another device, or within one device.
Status transfer(Device& to_device, std::byte* to, Device& from_device, const std::byte* from, size_t bytes);

/// Throws an internal Error if a copy was refused. The caller passes only addresses of its own memory.
void check_copied(const Status& status);

/// Owns memory of one device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device& device, size_t bytes) : device_(&device), data_(device.allocate(bytes)) {}
  ~DeviceMemory() { reset(); }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    reset();
    device_ = other.device_;
    data_ = std::exchange(other.data_, nullptr);
    return *this;
  }

  Device& device() const { return *device_; }
  std::byte* data() const { return data_; }

 private:
  void reset() noexcept {
    if (data_ != nullptr) device_->free(data_);
    data_ = nullptr;
  }

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace halfstep::runtime
