// A CUDA device. Part of builds with HALFSTEP_CUDA only; they start on machines without a GPU too.
#pragma once

#include "halfstep/engine/runtime/device.h"

namespace halfstep::runtime {

/// Everything runs on the device's default stream and is waited for, so that an error belongs to the call that made it.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {}

  /// The device of that number; throws (unsupported) with CUDA's own reason when the machine has none.
  static CudaDevice& at(int index);

  Place place() const override { return {DeviceKind::cuda, index_}; }
  bool is_host() const override { return false; }
  std::byte* allocate(size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  Status upload(std::byte* to, const std::byte* from_host, size_t bytes) override;
  Status download(std::byte* to_host, const std::byte* from, size_t bytes) override;
  Status copy(std::byte* to, const std::byte* from, size_t bytes) override;
  Status launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) override;

 private:
  int index_;
};

}  // namespace halfstep::runtime
