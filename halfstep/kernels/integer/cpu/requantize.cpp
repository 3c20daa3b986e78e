#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/integer/cpu/requantize.cpp"
#include "halfstep/kernels/integer/cpu/requantize.h"
#include "halfstep/kernels/simd_dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using vectors::HWY_NAMESPACE::Ints;
using vectors::HWY_NAMESPACE::IntVec;
using vectors::HWY_NAMESPACE::with_lanes;

template <class Lanes, class Code>
void requantize_row(const RequantizeCall& call, int32_t bias_of_all, const Lanes& code_of, const int32_t* acc,
                    Code* codes) {
  const Ints d;
  const hn::Rebind<Code, Ints> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t pixels = call.pixels;
  const IntVec bias = hn::Set(d, bias_of_all);
  const IntVec low = hn::Set(d, call.clamp.low);
  const IntVec high = hn::Set(d, call.clamp.high);
  for (int64_t i = 0; i < pixels; i += lanes) {
    const IntVec code = code_of(hn::Load(d, acc + i) + bias);
    hn::StoreU(hn::DemoteTo(narrow, hn::Min(hn::Max(code, low), high)), narrow, codes + i);
  }
}

template <class Code>
void requantize(const RequantizeCall& call) {
  for (int64_t o = 0; o < call.outputs; ++o) {
    const ChannelStep& step = call.steps[o];
    auto* codes = static_cast<Code*>(call.codes) + o * kBlockPixels;
    with_lanes(step.requantizer, call.y_zero_point,
               [&](const auto& lanes) { requantize_row(call, step.bias, lanes, call.acc + o * kBlockPixels, codes); });
  }
}

Requantize requantize_of(bool wide) { return wide ? &requantize<uint16_t> : &requantize<uint8_t>; }

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::integer {

Requantize choose_requantize(CpuLevel level, const Layer& layer) {
  return HS_SIMD_CHOOSE(level, requantize_of)(layer.wide_out);
}

}  // namespace halfstep::kernels::integer
#endif
