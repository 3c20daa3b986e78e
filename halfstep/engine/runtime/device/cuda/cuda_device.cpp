#include "halfstep/engine/runtime/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>
#include <new>

#include "halfstep/engine/runtime/errors.h"

namespace halfstep::runtime {
namespace {

Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return Status(errors::cuda_failed(cudaGetErrorName(error), cudaGetErrorString(error)));
}

int device_count() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    fail(errors::cuda_unavailable(cudaGetErrorString(error)));
  return count;
}

}  // namespace

CudaDevice& CudaDevice::at(int index) {
  static std::deque<CudaDevice> devices = [] {
    std::deque<CudaDevice> all;
    for (int i = 0; i < device_count(); ++i) all.emplace_back(i);
    return all;
  }();
  if (index < 0 || static_cast<size_t>(index) >= devices.size())
    fail(errors::cuda_device_unknown(index, devices.size()));
  return devices[static_cast<size_t>(index)];
}

std::byte* CudaDevice::allocate(size_t bytes) {
  void* memory = nullptr;
  const size_t size = std::max<size_t>(bytes, 1);
  if (cudaSetDevice(index_) != cudaSuccess || cudaMalloc(&memory, size) != cudaSuccess) throw std::bad_alloc();
  if (cudaMemset(memory, 0, size) != cudaSuccess) {
    cudaFree(memory);
    throw std::bad_alloc();
  }
  return static_cast<std::byte*>(memory);
}

void CudaDevice::free(std::byte* memory) noexcept { cudaFree(memory); }

Status CudaDevice::upload(std::byte* to, const std::byte* from_host, size_t bytes) {
  return status_of(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice));
}

Status CudaDevice::download(std::byte* to_host, const std::byte* from, size_t bytes) {
  return status_of(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost));
}

Status CudaDevice::copy(std::byte* to, const std::byte* from, size_t bytes) {
  if (Status status = status_of(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice)); !status.ok()) return status;
  return status_of(cudaDeviceSynchronize());
}

Status CudaDevice::launch(const kernels::Kernel& kernel, const kernels::Call& call, int phase, int64_t piece) {
  if (Status status = status_of(cudaSetDevice(index_)); !status.ok()) return status;
  if (Status status = kernel.run(call, phase, piece); !status.ok()) return status;
  if (Status status = status_of(cudaGetLastError()); !status.ok()) return status;
  return status_of(cudaDeviceSynchronize());
}

}  // namespace halfstep::runtime
