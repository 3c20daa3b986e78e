// Reference kernels of Paddle's dequantizers (docs/arithmetic.md, section 8).
#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/quantizers/paddle/dequantizer.h"

namespace halfstep::kernels {
namespace {

using paddle::Dequantizer;

template <class Op>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<Dequantizer>(paddle::dequantizer_of<Op>(problem))};
}

template <class X, class T>
void dequantize(const Call& call, const Dequantizer& d) {
  using C = Compute<T>;
  const X* src = call.in[0].as<const X>();
  const T* scales = call.in[Dequantizer::kScale].as<const T>();
  T* dst = call.out[0].as<T>();
  const T largest(static_cast<C>(d.largest));
  for (int64_t i = 0; i < d.channels.size(); ++i) {
    T x = paddle::cast_to<T>(src[i]);
    if (d.has_second) {
      const T second = *call.in[Dequantizer::kSecond].as<const T>();
      x = T(static_cast<C>(x) * static_cast<C>(scales[i / d.channels.run % d.channels.count]));
      dst[i] = paddle::times_over<T, C>(x, second, largest);
    } else {
      dst[i] = paddle::times_over<T, C>(x, scales[i / d.channels.run % d.channels.count], largest);
    }
  }
}

Status run(const Call& call, int, int64_t) {
  const auto& d = state_of<Dequantizer>(call);
  if (!d.copies) {
    paddle::with_dequantized_types(d, [&]<class X, class T>() { dequantize<X, T>(call, d); });
  } else if (d.channels.size() > 0) {
    std::memcpy(call.out[0].data, call.in[0].data, static_cast<size_t>(d.channels.size()) * size_of(d.from));
  }
  return {};
}

}  // namespace

const Kernel reference_dequantize_linear{"reference", accept_all, prepare<DequantizeLinear>, run};
const Kernel reference_fake_dequantize_max_abs{"reference", accept_all, prepare<FakeDequantizeMaxAbs>, run};
const Kernel reference_fake_channel_wise_dequantize_max_abs{"reference", accept_all,
                                                            prepare<FakeChannelWiseDequantizeMaxAbs>, run};

}  // namespace halfstep::kernels
