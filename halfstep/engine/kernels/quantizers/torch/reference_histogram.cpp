// PyTorch's HistogramObserver (docs/arithmetic.md, section 10). The reference is the only kernel, because the search is
// sequential.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/quantizers/torch/histogram.h"
#include "halfstep/engine/kernels/quantizers/torch/observer.h"

namespace halfstep::kernels {
namespace {

using Op = HistogramObserver;
using torch::Extremes;

struct State {
  DType dtype;
  int64_t size, bins;
  torch::ObserverGrid grid;
};

/// Scratch: the counts of the batch, then the old counts in the new bins.
Plan prepare(const Problem& problem) {
  const Type& x = *problem.in[Op::in::x];
  const int64_t bins = problem.in[Op::in::histogram]->dims[0];
  return {.state = std::make_shared<State>(x.dtype, count_elements(x.dims), bins,
                                           torch::observer_grid(Op(problem.attributes))),
          .scratch = static_cast<size_t>(bins) * (sizeof(int64_t) + sizeof(float))};
}

/// Smallest and largest finite element.
template <class T>
Extremes finite_extremes(const T* src, int64_t size) {
  Extremes found;
  for (int64_t i = 0; i < size; ++i) {
    const auto x = static_cast<float>(src[i]);
    if (!std::isinf(x)) found = found.with({x, x});
  }
  return found;
}

template <class T>
void count(const T* src, const State& state, const Extremes& range, int64_t* counts) {
  std::fill_n(counts, state.bins, int64_t{0});
  for (int64_t i = 0; i < state.size; ++i) {
    const auto x = static_cast<float>(src[i]);
    if (!std::isinf(x)) ++counts[torch::bin_of(x, range, state.bins)];
  }
}

/// Writes the new histogram over `range`. It may share memory with the old one, over `before`.
template <class T>
void update(const Call& call, const State& state, const Extremes& before, const Extremes& range) {
  const auto bins = static_cast<size_t>(state.bins);
  const std::span old(call.in[Op::in::histogram].as<const float>(), bins);
  auto* counts = reinterpret_cast<int64_t*>(call.scratch);
  const std::span moved(reinterpret_cast<float*>(counts + bins), bins);
  std::fill(moved.begin(), moved.end(), 0.0F);
  if (before.low == range.low && before.high == range.high) {
    std::copy(old.begin(), old.end(), moved.begin());
  } else if (before.seen()) {
    torch::move_counts(old, before, range, moved);
  }
  count(call.in[Op::in::x].as<const T>(), state, range, counts);
  auto* dst = call.out[Op::out::histogram_out].as<float>();
  for (size_t i = 0; i < bins; ++i) dst[i] = moved[i] + static_cast<float>(counts[i]);
}

Status run(const Call& call, int, int64_t) {
  const auto& state = state_of<State>(call);
  const Extremes before{*call.in[Op::in::min_val].as<const float>(), *call.in[Op::in::max_val].as<const float>()};
  Extremes batch;
  with_any_float(state.dtype,
                 [&]<class T>() { batch = finite_extremes(call.in[Op::in::x].as<const T>(), state.size); });
  const Extremes range = before.with(batch);
  if (range.seen() && !(std::isfinite(range.low) && std::isfinite(range.high)))
    return Status(errors::observed_range_not_finite(fmt::format("{} to {}", range.low, range.high)));
  with_any_float(state.dtype, [&]<class T>() { update<T>(call, state, before, range); });
  *call.out[Op::out::min_val_out].as<float>() = range.low;
  *call.out[Op::out::max_val_out].as<float>() = range.high;
  const auto bins = static_cast<size_t>(state.bins);
  const std::span cumulative(reinterpret_cast<float*>(call.scratch), bins);
  const Extremes best =
      range.seen() ? torch::best_range({call.out[Op::out::histogram_out].as<const float>(), bins}, range, cumulative)
                   : range;
  torch::ParameterResults(call.out[Op::out::scale], call.out[Op::out::zero_point])
      .store(torch::observer_parameters(best, state.grid), 0);
  return {};
}

}  // namespace

extern const Kernel reference_histogram_observer{"reference", accept_all, prepare, run};

}  // namespace halfstep::kernels
