// Gradients of operators whose operands differ in number or type.
#include <string>
#include <vector>

#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/elementwise/walk.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace elementwise {
namespace {

Status run_masked(const Call& call, int, int64_t piece) {
  const auto& [runs, a] = state_of<BroadcastState<Masked>>(call);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    map_two(runs, call.in[0].as<const bool>(), call.in[1].as<const T>(), call.out[0].as<T>(), piece,
            [inverse = a.inverse](bool holds, T x) { return holds != inverse ? x : T(0); });
  });
  return {};
}

Status run_clip_grad(const Call& call, int, int64_t piece) {
  using In = ClipGrad::in;
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kPiece);
  with_number(call.in[In::x].dtype, [&]<class X>() {
    const X *x = call.in[In::x].as<const X>(), *lowest = call.in[In::lowest].as<const X>(),
            *highest = call.in[In::highest].as<const X>();
    const auto is_cut = [=](int64_t i) {
      return (lowest != nullptr && widen(x[i]) < widen(*lowest)) ||
             (highest != nullptr && widen(x[i]) > widen(*highest));
    };
    with_any_float(call.out[0].dtype, [&]<class T>() {
      const T* out_grad = call.in[In::out_grad].as<const T>();
      for (int64_t i = piece * kPiece; i < end; ++i) call.out[0].as<T>()[i] = is_cut(i) ? T(0) : out_grad[i];
    });
  });
  return {};
}

/// Computed in double, rounded once.
Status run_power_grad(const Call& call, int, int64_t piece) {
  const auto& runs = state_of<BroadcastState<PowerGrad>>(call).runs;
  with_any_float(call.in[0].dtype, [&]<class T>() {
    with_number(call.in[1].dtype, [&]<class U>() {
      for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
        const Cursor<T> a(runs, 0, call.in[0].as<const T>(), run, first);
        const Cursor<U> b(runs, 1, call.in[1].as<const U>(), run, first);
        const Cursor<T> out_grad(runs, 2, call.in[2].as<const T>(), run, first);
        const int64_t a_step = a.moves, b_step = b.moves, grad_step = out_grad.moves;
        T* dst = call.out[0].as<T>() + at;
        for (int64_t e = 0; e < count; ++e) {
          const double base = to_double(a.at[e * a_step]), exponent = to_double(b.at[e * b_step]);
          const double slope = exponent == 0 ? 0 : exponent * std::pow(base, exponent - 1);
          dst[e] = from_double<T>(to_double(out_grad.at[e * grad_step]) * slope);
        }
      });
    });
  });
  return {};
}

struct CombinedState {
  std::vector<Dims> x;
  Dims out;
  std::string of;
  size_t index;
};

Plan prepare_combined_grad(const Problem& problem) {
  const CombinedGrad a(problem.attributes);
  CombinedState state{{}, problem.in[CombinedGrad::in::out]->dims, a.of, static_cast<size_t>(a.index)};
  for (size_t i = CombinedGrad::in::x; i < problem.in.size(); ++i) state.x.push_back(problem.in[i]->dims);
  const auto scratch = static_cast<size_t>(count_elements(problem.out[0]->dims)) * sizeof(double);
  return {.state = std::make_shared<CombinedState>(std::move(state)), .scratch = scratch};
}

/// The part of the gradient of element `at` of the result that x[index] has.
template <class X>
double share_of(const Call& call, const CombinedState& s, int64_t at) {
  if (s.of == "sum_of") return 1;
  if (s.of == "mean_of") return 1 / static_cast<double>(s.x.size());
  const auto is_result = [&](size_t i) {
    const X value = call.in[CombinedGrad::in::x + i].as<const X>()[broadcast_index(s.x[i], s.out, at)];
    return widen(value) == widen(call.in[CombinedGrad::in::out].as<const X>()[at]);
  };
  int64_t ties = 0;
  for (size_t i = 0; i < s.x.size(); ++i) ties += is_result(i) ? 1 : 0;
  return is_result(s.index) ? 1 / static_cast<double>(ties) : 0;
}

/// Sums in double, rounded once.
Status run_combined_grad(const Call& call, int, int64_t) {
  const auto& s = state_of<CombinedState>(call);
  auto* sums = reinterpret_cast<double*>(call.scratch);
  std::fill_n(sums, call.out[0].size(), 0.0);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[CombinedGrad::in::out_grad].as<const T>();
    with_number(call.in[CombinedGrad::in::out].dtype, [&]<class X>() {
      for (int64_t at = 0; at < call.in[CombinedGrad::in::out].size(); ++at)
        sums[broadcast_index(s.x[s.index], s.out, at)] += to_double(out_grad[at]) * share_of<X>(call, s, at);
    });
    for (int64_t i = 0; i < call.out[0].size(); ++i) call.out[0].as<T>()[i] = from_double<T>(sums[i]);
  });
  return {};
}

}  // namespace
}  // namespace elementwise

using namespace elementwise;  // NOLINT: only for the table below

extern const Kernel reference_masked{"reference", accept_all, prepare<Masked>, run_masked};
extern const Kernel reference_clip_grad{"reference", accept_all, prepare<ClipGrad>, run_clip_grad};
extern const Kernel reference_combined_grad{"reference", accept_all, prepare_combined_grad, run_combined_grad};
extern const Kernel reference_power_grad{"reference", accept_all, prepare<PowerGrad>, run_power_grad};

}  // namespace halfstep::kernels
