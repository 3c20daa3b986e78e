// The host as a device.
#pragma once

#include "halfstep/engine/runtime/device.h"

namespace halfstep::runtime {

class CpuDevice final : public Device {
 public:
  Place place() const override { return {DeviceKind::cpu, 0}; }
  bool is_host() const override { return true; }
  std::byte* allocate(size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  Status upload(std::byte* to, const std::byte* from_host, size_t bytes) override;
  Status download(std::byte* to_host, const std::byte* from, size_t bytes) override;
  Status copy(std::byte* to, const std::byte* from, size_t bytes) override;
  Status launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) override;
};

}  // namespace halfstep::runtime
