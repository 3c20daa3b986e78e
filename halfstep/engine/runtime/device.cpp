#include "halfstep/engine/runtime/device.h"

#include "halfstep/engine/runtime/device/cpu/cpu_device.h"
#include "halfstep/engine/runtime/device/sim/sim_device.h"
#include "halfstep/engine/runtime/errors.h"
#ifdef HALFSTEP_CUDA
#include "halfstep/engine/runtime/device/cuda/cuda_device.h"
#endif

namespace halfstep::runtime {

Device& device_at(Place place) {
  static CpuDevice cpu;
  static SimDevice sim;
  switch (place.kind) {
    case DeviceKind::cpu: return cpu;
    case DeviceKind::sim: return sim;
    case DeviceKind::cuda:
#ifdef HALFSTEP_CUDA
      return CudaDevice::at(place.index);
#else
      break;
#endif
  }
  fail(errors::device_not_in_build(to_string(place)));
}

void check_copied(const Status& status) {
  if (!status.ok()) internal_error(__FILE__, __LINE__, status.diagnostic().message());
}

Status transfer(Device& to_device, std::byte* to, Device& from_device, const std::byte* from, size_t bytes) {
  if (&to_device == &from_device) return to_device.copy(to, from, bytes);
  if (from_device.is_host()) return to_device.upload(to, from, bytes);
  if (to_device.is_host()) return from_device.download(to, from, bytes);
  return Status(errors::no_direct_transfer(to_string(from_device.place()), to_string(to_device.place())));
}

}  // namespace halfstep::runtime
