// Softmax and its gradient along the last axis, in float32. A line is read again while it is in the first-level cache.
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/softmax_lines.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/reduce/cpu/softmax.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after the targets, because it is compiled once for each.
#include "halfstep/engine/kernels/reduce/cpu/exponentials-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::reduce::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// dst = exp(src - largest of src) / sum of these.
void normalize(const float* src, const float*, float* dst, int64_t size) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = hn::Lanes(d), whole = size / lanes * lanes;
  const auto some = hn::FirstN(d, static_cast<size_t>(size - whole));
  const auto factor = hn::Set(d, 1.0F / exponentials(src, dst, size));
  for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, dst + i), factor), d, dst + i);
  if (whole != size) hn::BlendedStore(hn::Mul(hn::MaskedLoad(some, d, dst + whole), factor), some, d, dst + whole);
}

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

/// Computes a line from one or two operands.
using Line = void (*)(const float* first, const float* second, float* dst, int64_t size);

struct State {
  SoftmaxLines lines;
  Line line;
};

template <class Typed>
SoftmaxLines lines_of(const Problem& problem) {
  const Typed a(problem.attributes);
  return {problem.in[0]->dims, a.axis, a.flattened};
}

template <class Typed>
Verdict accept_lines(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const DType dtype = problem.in[0]->dtype;
  if (dtype != DType::f32) return refuse(errors::kernel_takes_other_types("an operand", name(dtype), "f32"));
  if (lines_of<Typed>(problem).axis.inner != 1)
    return refuse(errors::kernel_needs_layout("rows of neighbouring elements"));
  return accept();
}

template <class Typed>
Plan plan_of(const Problem& problem, Line line) {
  auto state = std::make_shared<State>(lines_of<Typed>(problem), line);
  const int64_t pieces = state->lines.pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

Plan prepare_softmax(const Problem& problem) {
  return plan_of<Softmax>(problem, HS_SIMD_CHOOSE(problem.level, normalize));
}
Plan prepare_grad(const Problem& problem) {
  return plan_of<SoftmaxGrad>(problem, HS_SIMD_CHOOSE(problem.level, differentiate));
}

Status run(const Call& call, int, int64_t piece) {
  const auto& [lines, line] = state_of<State>(call);
  const auto* first = call.in[0].as<const float>();
  const float* second = call.in.size() > 1 ? call.in[1].as<const float>() : first;
  lines.for_each(piece, [&](int64_t begin) {
    line(first + begin, second + begin, call.out[0].as<float>() + begin, lines.axis.extent);
  });
  return {};
}

}  // namespace
}  // namespace reduce

extern const Kernel cpu_softmax_rows{"rows", reduce::accept_lines<Softmax>, reduce::prepare_softmax, reduce::run};
extern const Kernel cpu_softmax_grad_rows{"rows", reduce::accept_lines<SoftmaxGrad>, reduce::prepare_grad, reduce::run};

}  // namespace halfstep::kernels
#endif
