// Reference kernels of Paddle's quantizers (docs/arithmetic.md, section 8).
#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/quantizers/paddle/quantizer_use.h"

namespace halfstep::kernels {
namespace {

using paddle::Quantizer;
using paddle::ScaleFrom;
using paddle::Writes;

template <class Op, Writes kWrites = Writes::codes>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<Quantizer>(paddle::quantizer_of<Op>(problem, kWrites))};
}

template <class T>
void find_channel_scales(const Call& call, const Quantizer& q) {
  using C = Compute<T>;
  const T* src = call.in[0].as<const T>();
  T* scale = call.out[q.out_scale].as<T>();
  const Channels& channels = q.channels;
  for (int64_t c = 0; c < channels.count; ++c) {
    C largest = 0;
    for (int64_t o = 0; o < channels.outer; ++o) {
      const C top = paddle::abs_max<C>(src + (o * channels.count + c) * channels.run, channels.run);
      if (!q.passes_over_nan || largest < top) largest = top;
    }
    scale[c] = T(largest);
  }
}

template <class T>
void write_elements(const Call& call, const Quantizer& q) {
  using C = Compute<T>;
  const T* src = call.in[0].as<const T>();
  const T* scales = q.scales<T>(call);
  T* dst = call.out[0].as<T>();
  const auto top = static_cast<C>(q.rule.q);
  for (int64_t i = 0; i < q.channels.size(); ++i) {
    const auto scale = static_cast<C>(scales[i / q.channels.run % q.channels.count]);
    const C code =
        paddle::code_of(static_cast<C>(src[i]), paddle::multiplier_of(scale, top), scale, top, q.rule.rounding);
    dst[i] = T(q.writes == Writes::values ? paddle::value_of(code, scale, top) : code);
  }
}

template <class T>
Status run_as(const Call& call, const Quantizer& q) {
  const int64_t size = q.channels.size();
  if (q.from == ScaleFrom::largest) {
    find_channel_scales<T>(call, q);
  } else if (q.from != ScaleFrom::given) {
    Status status = paddle::step<T>(call, q, paddle::abs_max<Compute<T>>(call.in[0].as<const T>(), size));
    if (!status.ok()) return status;
  }
  if (q.writes != Writes::copy) {
    write_elements<T>(call, q);
  } else if (size > 0) {
    std::memcpy(call.out[0].data, call.in[0].data, static_cast<size_t>(size) * sizeof(T));
  }
  return {};
}

Status run(const Call& call, int, int64_t) {
  const auto& q = state_of<Quantizer>(call);
  return with_any_float(q.dtype, [&]<class T>() { return run_as<T>(call, q); });
}

Plan prepare_copy(const Problem& problem) { return {.state = std::make_shared<Quantizer>(paddle::copier_of(problem))}; }

}  // namespace

const Kernel reference_fake_quantize_abs_max{"reference", accept_all, prepare<FakeQuantizeAbsMax>, run};
const Kernel reference_fake_quantize_dequantize_abs_max{"reference", accept_all,
                                                        prepare<FakeQuantizeDequantizeAbsMax, Writes::values>, run};
const Kernel reference_fake_channel_wise_quantize_abs_max{"reference", accept_all,
                                                          prepare<FakeChannelWiseQuantizeAbsMax>, run};
const Kernel reference_fake_channel_wise_quantize_dequantize_abs_max{
    "reference", accept_all, prepare<FakeChannelWiseQuantizeDequantizeAbsMax, Writes::values>, run};
const Kernel reference_fake_quantize_range_abs_max{"reference", accept_all, prepare<FakeQuantizeRangeAbsMax>, run};
const Kernel reference_fake_quantize_moving_average_abs_max{"reference", accept_all,
                                                            prepare<FakeQuantizeMovingAverageAbsMax>, run};
const Kernel reference_fake_quantize_dequantize_moving_average_abs_max{
    "reference", accept_all, prepare<FakeQuantizeDequantizeMovingAverageAbsMax, Writes::values>, run};
const Kernel reference_moving_average_abs_max_scale{"reference", accept_all,
                                                    prepare<MovingAverageAbsMaxScale, Writes::copy>, run};
const Kernel reference_straight_through_estimator_grad{"reference", accept_all, prepare_copy, run};
const Kernel reference_quantize_linear{"reference", accept_all, prepare<QuantizeLinear>, run};

}  // namespace halfstep::kernels
