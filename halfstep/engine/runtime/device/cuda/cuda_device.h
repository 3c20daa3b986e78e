// A CUDA device. Only builds with HALFSTEP_CUDA contain it. Such builds also start on machines without a GPU.
#pragma once

#include "halfstep/engine/runtime/device.h"

namespace halfstep::runtime {

/// All work uses the device's default stream. Each call waits for its work, so that an error belongs to the call that
/// caused it.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {}

  /// The device with this index. Throws (unsupported) with CUDA's reason if the machine does not have it.
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
