// The gradient of softmax along the last axis: a line is read twice while it is in the first cache.
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/reduce/softmax_lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/reduce/cpu/softmax.cpp"
#include "halfstep/kernels/common/simd/dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::reduce::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// dst = out * (out_grad - sum of out * out_grad).
void differentiate(const float* out, const float* out_grad, float* dst, int64_t size) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = hn::Lanes(d), whole = size / lanes * lanes;
  const int64_t rest = size - whole;
  const auto some = hn::FirstN(d, static_cast<size_t>(rest));
  auto sums = hn::Zero(d);
  for (int64_t i = 0; i < whole; i += lanes) sums = hn::MulAdd(hn::LoadU(d, out + i), hn::LoadU(d, out_grad + i), sums);
  if (rest != 0)
    sums = hn::MulAdd(hn::MaskedLoad(some, d, out + whole), hn::MaskedLoad(some, d, out_grad + whole), sums);
  const auto sum = hn::SumOfLanes(d, sums);
  for (int64_t i = 0; i < whole; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Sub(hn::LoadU(d, out_grad + i), sum)), d, dst + i);
  if (rest == 0) return;
  const auto last =
      hn::Mul(hn::MaskedLoad(some, d, out + whole), hn::Sub(hn::MaskedLoad(some, d, out_grad + whole), sum));
  hn::BlendedStore(last, some, d, dst + whole);
}

}  // namespace halfstep::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace reduce {
namespace {

struct State {
  SoftmaxLines lines;
  decltype(&N_AVX2::differentiate) differentiate;
};

SoftmaxLines lines_of(const Problem& problem) {
  const SoftmaxGrad a(problem.attributes);
  return {problem.in[0]->dims, a.axis, a.flattened};
}

Verdict accept_lines(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const DType dtype = problem.in[0]->dtype;
  if (dtype != DType::f32) return refuse("the operands are {}, and this kernel takes f32", name(dtype));
  if (lines_of(problem).axis.inner != 1) return refuse("the elements of a line are no neighbours");
  return accept();
}

Plan prepare(const Problem& problem) {
  auto state = std::make_shared<State>(lines_of(problem), HS_SIMD_CHOOSE(problem.level, differentiate));
  const int64_t pieces = state->lines.pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

Status run(const Call& call, int, int64_t piece) {
  const auto& [lines, differentiate] = state_of<State>(call);
  lines.for_each(piece, [&](int64_t begin) {
    differentiate(call.in[0].as<const float>() + begin, call.in[1].as<const float>() + begin,
                  call.out[0].as<float>() + begin, lines.axis.extent);
  });
  return {};
}

}  // namespace
}  // namespace reduce

extern const Kernel cpu_softmax_grad_rows{"rows", reduce::accept_lines, reduce::prepare, reduce::run};

}  // namespace halfstep::kernels
#endif
