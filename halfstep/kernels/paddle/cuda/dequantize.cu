// Paddle's dequantizers on CUDA.
#include <memory>

#include "halfstep/kernels/cuda/launch.cuh"
#include "halfstep/kernels/paddle/dequantizer.h"

namespace halfstep::kernels {
namespace paddle {
namespace {

template <class X, class T>
struct Dequantize {
  using C = Compute<T>;
  const X* src;
  const T* scales;
  const T* second;  ///< nullptr where there is none
  T* dst;
  Channels channels;
  T largest;

  __device__ void operator()(int64_t i) const {
    const int64_t channel = channels.count == 1 ? 0 : i / channels.run % channels.count;
    T x = cast_to<T>(src[i]);
    if (second != nullptr) x = T(static_cast<C>(x) * static_cast<C>(scales[channel]));
    dst[i] = times_over<T, C>(x, second != nullptr ? *second : scales[channel], largest);
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
    cuda::for_each_element(
        d.channels.size(),
        Dequantize<X, T>{call.in[0].as<const X>(), call.in[Dequantizer::kScale].as<const T>(), second,
                         call.out[0].as<T>(), d.channels, T(static_cast<Compute<T>>(d.largest))});
  });
  return {};
}

template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<Dequantizer>(dequantizer_of<Op>(problem))};
}

}  // namespace
}  // namespace paddle

const Kernel cuda_dequantize_linear_elements = {"elements", accept_all, paddle::prepare<DequantizeLinear>,
                                                paddle::run};
const Kernel cuda_fake_dequantize_max_abs_elements = {"elements", accept_all,
                                                      paddle::prepare<FakeDequantizeMaxAbs>, paddle::run};
const Kernel cuda_fake_channel_wise_dequantize_max_abs_elements = {
    "elements", accept_all, paddle::prepare<FakeChannelWiseDequantizeMaxAbs>, paddle::run};

}  // namespace halfstep::kernels
