// Paddle's dequantizers on CUDA.
#include <memory>

#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/quantizers/paddle/dequantizer.h"

namespace halfstep::kernels {
namespace paddle {
namespace {

/// One element with the scale of its channel, for cuda::map.
template <class X, class T>
struct Dequantize {
  using C = Compute<T>;
  using Parameters = T;
  const T* scales;
  const T* second;  ///< the second scale, nullptr without one
  T largest;

  HS_HOST_DEVICE T single() const { return scales[0]; }
  HS_HOST_DEVICE T parameters(int64_t channel) const { return scales[channel]; }
  HS_HOST_DEVICE T operator()(T scale, X code) const {
    const T x = cast_to<T>(code);
    if (second == nullptr) return times_over<T, C>(x, scale, largest);
    return times_over<T, C>(T(static_cast<C>(x) * static_cast<C>(scale)), *second, largest);
  }
};

Status run(const Call& call, int, int64_t) {
  const auto& d = state_of<Dequantizer>(call);
  if (d.copies) {
    cudaMemcpyAsync(call.out[0].data, call.in[0].data, static_cast<size_t>(d.channels.size()) * size_of(d.from),
                    cudaMemcpyDeviceToDevice);
    return {};
  }
  with_dequantized_types(d, [&]<class X, class T>() {
    const T* second = d.has_second ? call.in[Dequantizer::kSecond].as<const T>() : nullptr;
    const Dequantize<X, T> element{call.in[Dequantizer::kScale].as<const T>(), second,
                                   T(static_cast<Compute<T>>(d.largest))};
    cuda::map(d.channels.size(), cuda::Layout::of(d.channels), element, call.out[0].as<T>(), call.in[0].as<const X>());
  });
  return {};
}

template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<Dequantizer>(dequantizer_of<Op>(problem))};
}

}  // namespace
}  // namespace paddle

extern const Kernel cuda_dequantize_linear_elements{"elements", accept_all, paddle::prepare<DequantizeLinear>,
                                                    paddle::run};
extern const Kernel cuda_fake_dequantize_max_abs_elements{"elements", accept_all, paddle::prepare<FakeDequantizeMaxAbs>,
                                                          paddle::run};
extern const Kernel cuda_fake_channel_wise_dequantize_max_abs_elements{
    "elements", accept_all, paddle::prepare<FakeChannelWiseDequantizeMaxAbs>, paddle::run};

}  // namespace halfstep::kernels
