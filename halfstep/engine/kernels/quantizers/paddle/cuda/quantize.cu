// Paddle's quantizers on CUDA. They follow paddle/rule.h and treat NaN and the window as the CPU kernels do.
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/quantizers/paddle/quantizer_use.h"

namespace halfstep::kernels {
namespace paddle {
namespace {

/// Elements of a run that one thread block searches.
constexpr int64_t kSlice = 1 << 15;
/// Shorter runs are searched by one thread each.
constexpr int64_t kShortRun = 32;

struct Plan {
  Quantizer quantizer;
  int64_t slices_per_run = 1;
  int64_t blocks() const { return quantizer.channels.outer * quantizer.channels.count * slices_per_run; }
};

/// Largest magnitude of each channel, kept as bits in scratch. One thread block searches one slice of a run.
template <class T>
struct Search {
  using C = Compute<T>;
  using Bits = cuda::MagnitudeBits<C>;
  const T* src;
  Bits* largest;
  Channels channels;
  int64_t slices_per_run;
  bool passes_over_nan;

  __device__ void operator()(int64_t block) const {
    const int64_t run = block / slices_per_run;
    const T* begin = src + run * channels.run;
    const int64_t first = block % slices_per_run * kSlice;
    const int64_t last = min(channels.run, first + kSlice);
    const C head = static_cast<C>(begin[0]);
    if (passes_over_nan && head != head) return;
    Bits mine = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += cuda::kThreads) {
      const C x = static_cast<C>(begin[i]);
      if (x == x) mine = max(mine, cuda::magnitude_bits(x));
    }
    mine = cuda::largest_of_block(mine);
    if (threadIdx.x == 0 && mine > 0) atomicMax(largest + run % channels.count, mine);
  }
};

/// Like Search, with one thread for each run. On runs shorter than a warp most threads of a block would idle.
template <class T>
struct SearchShortRuns {
  Search<T> search;

  __device__ void operator()(int64_t run) const {
    using C = Compute<T>;
    const T* begin = search.src + run * search.channels.run;
    const C head = static_cast<C>(begin[0]);
    if (search.passes_over_nan && head != head) return;
    cuda::MagnitudeBits<C> mine = 0;
    for (int64_t i = 0; i < search.channels.run; ++i) {
      const C x = static_cast<C>(begin[i]);
      if (x == x) mine = max(mine, cuda::magnitude_bits(x));
    }
    auto* largest = search.largest + run % search.channels.count;
    if (mine > *largest) atomicMax(largest, mine);
  }
};

/// Stores the largest magnitudes as scales. The scale is NaN where the channel's first element is NaN, unless runs that
/// start with NaN are skipped.
template <class T>
struct TakeLargest {
  using C = Compute<T>;
  const T* src;
  const cuda::MagnitudeBits<C>* largest;
  T* scale;
  int64_t run;
  bool passes_over_nan;

  __device__ C of(int64_t channel) const {
    const C head = static_cast<C>(src[channel * run]);
    return head != head && !passes_over_nan ? head : cuda::magnitude_of(largest[channel]);
  }
  __device__ void operator()(int64_t channel) const { scale[channel] = T(std::fabs(of(channel))); }
};

template <class T>
struct AverageStep {
  using C = Compute<T>;
  TakeLargest<T> take;
  const T *accum, *state;
  T *out_accum, *out_state;
  C rate;

  __device__ void operator()() const {
    const auto next = Average<T, C>::of(*accum, *state, std::fabs(take.of(0)), rate);
    *out_accum = next.accum;
    *out_state = next.state;
    *take.scale = next.scale;
  }
};

/// Step of the moving window. `window` is a copy of the previous one and is updated in place.
template <class T>
struct WindowStep {
  using C = Compute<T>;
  TakeLargest<T> take;
  const T* in_scale;
  T* window;
  int64_t size, step;

  __device__ void operator()() const {
    const C largest = std::fabs(take.of(0));
    const C last = static_cast<C>(*in_scale);
    const C removed = static_cast<C>(window[step % size]);
    window[step % size] = T(largest);
    *take.scale = T(scale_of_window<C>(window, size, step, last, removed, largest));
  }
};

/// One element with the scale of its channel, for cuda::map.
template <class T, Rounding kRounding, bool kValues>
struct Apply {
  using C = Compute<T>;
  struct Parameters {
    C scale, multiplier;
  };
  const T* scales;
  C q;

  HS_HOST_DEVICE Parameters single() const { return parameters(0); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const {
    const C scale = cuda::widened(scales[channel]);
    return {scale, multiplier_of(scale, q)};
  }
  HS_HOST_DEVICE T operator()(const Parameters& p, T x) const {
    const C code = code_of(cuda::widened(x), p.multiplier, p.scale, q, kRounding);
    return cuda::narrowed<T>(kValues ? value_of(code, p.scale, q) : code);
  }
};

template <class T, Rounding kRounding>
void apply_rounded(const Call& call, const Quantizer& q) {
  const T* src = call.in[0].as<const T>();
  T* dst = call.out[0].as<T>();
  const auto top = static_cast<Compute<T>>(q.rule.q);
  const auto layout = cuda::Layout::of(q.channels);
  if (q.writes == Writes::values) {
    cuda::map(q.channels.size(), layout, Apply<T, kRounding, true>{q.scales<T>(call), top}, dst, src);
  } else {
    cuda::map(q.channels.size(), layout, Apply<T, kRounding, false>{q.scales<T>(call), top}, dst, src);
  }
}

template <class T>
void apply(const Call& call, const Quantizer& q) {
  switch (q.rule.rounding) {
    case Rounding::half_even: return apply_rounded<T, Rounding::half_even>(call, q);
    case Rounding::half_away: return apply_rounded<T, Rounding::half_away>(call, q);
    case Rounding::e5m2: return apply_rounded<T, Rounding::e5m2>(call, q);
    case Rounding::e4m3: return apply_rounded<T, Rounding::e4m3>(call, q);
  }
}

template <class T>
Status step_window(const Call& call, const Quantizer& q, const TakeLargest<T>& take) {
  int64_t step = 0;
  cudaMemcpy(&step, call.in[q.iter].data, sizeof step, cudaMemcpyDeviceToHost);
  if (step < 0) return Status(errors::quantizer_step_negative(step));
  const T* before = call.in[q.window].as<const T>();
  T* window = call.out[q.out_window].as<T>();
  if (window != before)
    cudaMemcpyAsync(window, before, static_cast<size_t>(q.window_size) * sizeof(T), cudaMemcpyDeviceToDevice);
  cuda::once(WindowStep<T>{take, call.in[q.scale].as<const T>(), window, q.window_size, step});
  return {};
}

template <class T>
Status find_scale(const Call& call, const Plan& plan) {
  using C = Compute<T>;
  const Quantizer& q = plan.quantizer;
  const T* src = call.in[0].as<const T>();
  auto* largest = reinterpret_cast<cuda::MagnitudeBits<C>*>(call.scratch);
  cudaMemsetAsync(largest, 0, static_cast<size_t>(q.channels.count) * sizeof *largest);
  const Search<T> search{src, largest, q.channels, plan.slices_per_run, q.passes_over_nan};
  if (q.channels.run < kShortRun) {
    cuda::for_each_channel(q.channels.outer * q.channels.count, SearchShortRuns<T>{search});
  } else {
    cuda::for_each_block(plan.blocks(), search);
  }
  const TakeLargest<T> take{src, largest, call.out[q.out_scale].as<T>(), q.channels.run, q.passes_over_nan};
  if (q.from == ScaleFrom::window) return step_window(call, q, take);
  if (q.from == ScaleFrom::average) {
    cuda::once(AverageStep<T>{take, call.in[q.accum].as<const T>(), call.in[q.state].as<const T>(),
                              call.out[q.out_accum].as<T>(), call.out[q.out_state].as<T>(), static_cast<C>(q.rate)});
  } else {
    cuda::for_each_channel(q.channels.count, take);
  }
  return {};
}

template <class T>
Status run_as(const Call& call, const Plan& plan) {
  const Quantizer& q = plan.quantizer;
  if (q.from != ScaleFrom::given) {
    if (Status status = find_scale<T>(call, plan); !status.ok()) return status;
  }
  if (q.writes != Writes::copy) {
    apply<T>(call, q);
  } else {
    cudaMemcpyAsync(call.out[0].data, call.in[0].data, static_cast<size_t>(q.channels.size()) * sizeof(T),
                    cudaMemcpyDeviceToDevice);
  }
  return {};
}

Status run(const Call& call, int, int64_t) {
  const Plan& plan = state_of<Plan>(call);
  return with_any_float(plan.quantizer.dtype, [&]<class T>() { return run_as<T>(call, plan); });
}

kernels::Plan plan_of(const Quantizer& quantizer) {
  auto plan = std::make_shared<Plan>();
  plan->quantizer = quantizer;
  plan->slices_per_run = std::max<int64_t>(1, ceil_div(quantizer.channels.run, kSlice));
  const size_t scratch = quantizer.from == ScaleFrom::given ? 0 : static_cast<size_t>(quantizer.channels.count) * 8;
  return {.state = std::move(plan), .scratch = scratch};
}

template <class Op, Writes kWrites = Writes::codes>
kernels::Plan prepare(const Problem& problem) {
  return plan_of(quantizer_of<Op>(problem, kWrites));
}

kernels::Plan prepare_copy(const Problem& problem) {
  Quantizer copy;
  copy.dtype = problem.in[0]->dtype;
  copy.channels = Channels::of(problem.in[0]->dims, -1);
  copy.from = ScaleFrom::given;
  copy.writes = Writes::copy;
  return plan_of(copy);
}

}  // namespace
}  // namespace paddle

using paddle::Writes;

extern const Kernel cuda_fake_quantize_abs_max_elements{"elements", accept_all, paddle::prepare<FakeQuantizeAbsMax>,
                                                        paddle::run};
extern const Kernel cuda_fake_quantize_dequantize_abs_max_elements{
    "elements", accept_all, paddle::prepare<FakeQuantizeDequantizeAbsMax, Writes::values>, paddle::run};
extern const Kernel cuda_fake_channel_wise_quantize_abs_max_elements{
    "elements", accept_all, paddle::prepare<FakeChannelWiseQuantizeAbsMax>, paddle::run};
extern const Kernel cuda_fake_channel_wise_quantize_dequantize_abs_max_elements{
    "elements", accept_all, paddle::prepare<FakeChannelWiseQuantizeDequantizeAbsMax, Writes::values>, paddle::run};
extern const Kernel cuda_fake_quantize_range_abs_max_elements{"elements", accept_all,
                                                              paddle::prepare<FakeQuantizeRangeAbsMax>, paddle::run};
extern const Kernel cuda_fake_quantize_moving_average_abs_max_elements{
    "elements", accept_all, paddle::prepare<FakeQuantizeMovingAverageAbsMax>, paddle::run};
extern const Kernel cuda_fake_quantize_dequantize_moving_average_abs_max_elements{
    "elements", accept_all, paddle::prepare<FakeQuantizeDequantizeMovingAverageAbsMax, Writes::values>, paddle::run};
extern const Kernel cuda_moving_average_abs_max_scale_elements{
    "elements", accept_all, paddle::prepare<MovingAverageAbsMaxScale, Writes::copy>, paddle::run};
extern const Kernel cuda_straight_through_estimator_grad_elements{"elements", accept_all, paddle::prepare_copy,
                                                                  paddle::run};
extern const Kernel cuda_quantize_linear_elements{"elements", accept_all, paddle::prepare<QuantizeLinear>, paddle::run};

}  // namespace halfstep::kernels
