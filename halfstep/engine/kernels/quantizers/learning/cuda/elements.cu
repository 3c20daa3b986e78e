// Operators of ops/learning.yaml on CUDA, with one thread for each element (elements.h).
#include <memory>

#include "halfstep/engine/kernels/common/cuda/extremes.cuh"
#include "halfstep/engine/kernels/quantizers/learning/elements.h"

namespace halfstep::kernels {
namespace learning {
namespace {

template <class Element>
using State = Prepared<typename Element::Op, typename Element::Rule>;

template <class Element>
struct PerElement {
  Element element;
  Channels channels;
  HS_HOST_DEVICE void operator()(int64_t i) const {
    element(i, channels.count == 1 ? 0 : i / channels.run % channels.count);
  }
};

template <class Element>
Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<State<Element>>(problem)};
}

template <class Element>
Status run(const Call& call, int, int64_t) {
  const auto& state = state_of<State<Element>>(call);
  cuda::for_each_channel(state.channels.size(), PerElement<Element>{Element(call, state.rule), state.channels});
  return {};
}

struct CountStep {
  const int64_t* step;
  int64_t* next;
  HS_HOST_DEVICE void operator()() const { *next = *step + 1; }
};

Status run_drop(const Call& call, int, int64_t) {
  using Op = DropQuantized;
  const auto& state = state_of<State<Dropping>>(call);
  const int64_t blocks = ceil_div(state.channels.size(), Dropping::kAtOnce);
  cuda::for_each_channel(blocks, PerElement<Dropping>{Dropping(call, state.rule), state.channels});
  if (!state.rule.is_test)
    cuda::once(CountStep{at<const int64_t>(call, Op::in::step), call.out[Op::out::step_out].as<int64_t>()});
  return {};
}

struct FoldMagnitude {
  float found = 0.0F;
  __device__ void take(float x) { found = std::fmax(found, std::fabs(x)); }
  __device__ cuda::Keys keys() const { return {cuda::key_of(found), cuda::key_of(found)}; }
};

Plan prepare_magnitude(const Problem& problem) {
  return {.state = std::make_shared<Channels>(Channels::of(problem.in[0]->dims, -1)), .scratch = sizeof(cuda::Keys)};
}

struct OverMagnitude {
  const cuda::Keys* keys;
  const float* x;
  float* out;
  HS_HOST_DEVICE void operator()(int64_t i) const { out[i] = x[i] / (keys->highest() + arith::kMagnitudeMargin); }
};

Status run_magnitude(const Call& call, int, int64_t) {
  const auto& channels = state_of<Channels>(call);
  auto* keys = reinterpret_cast<cuda::Keys*>(call.scratch);
  const auto* x = at<const float>(call, UnitMagnitude::in::x);
  cuda::find_keys<FoldMagnitude>(x, channels, keys);
  cuda::for_each_channel(channels.size(), OverMagnitude{keys, x, call.out[UnitMagnitude::out::out_].as<float>()});
  return {};
}

}  // namespace

template <class Element>
constexpr Kernel kElements{"elements", accept_all, prepare<Element>, run<Element>};

}  // namespace learning

extern const Kernel cuda_fake_quantize_soft_grad_elements, cuda_fake_quantize_levels_elements,
    cuda_fake_quantize_levels_grad_elements, cuda_adaptive_round_elements, cuda_adaptive_round_grad_elements,
    cuda_drop_quantized_elements, cuda_drop_quantized_grad_elements, cuda_learned_clip_elements,
    cuda_learned_clip_grad_elements, cuda_unit_magnitude_elements;
const Kernel cuda_fake_quantize_soft_grad_elements = learning::kElements<learning::SoftGradient>;
const Kernel cuda_fake_quantize_levels_elements = learning::kElements<learning::NearestLevel>;
const Kernel cuda_fake_quantize_levels_grad_elements = learning::kElements<learning::LevelGradient>;
const Kernel cuda_adaptive_round_elements = learning::kElements<learning::AdaptiveRounding>;
const Kernel cuda_adaptive_round_grad_elements = learning::kElements<learning::AdaptiveGradient>;
const Kernel cuda_drop_quantized_grad_elements = learning::kElements<learning::DropGradient>;
const Kernel cuda_learned_clip_elements = learning::kElements<learning::Clipping>;
const Kernel cuda_learned_clip_grad_elements = learning::kElements<learning::ClipGradient>;
const Kernel cuda_drop_quantized_elements{"elements", accept_all, learning::prepare<learning::Dropping>,
                                          learning::run_drop};
const Kernel cuda_unit_magnitude_elements{"elements", accept_all, learning::prepare_magnitude, learning::run_magnitude};

}  // namespace halfstep::kernels
