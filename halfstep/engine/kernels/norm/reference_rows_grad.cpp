// Gradients of layer_norm and rms_norm. Statistics and sums are in double, and each element is rounded once. With n =
// (x - mean) * inverse_std and h = out_grad * scale, x_grad is (h - mean(h) - n * mean(h * n)) * inverse_std. rms_norm,
// which subtracts no mean, omits mean(h). The gradients of scale and bias are sums of out_grad * n and of out_grad. The
// gradients of layer_norm's mean and inverse_std add (mean_grad - inverse_std_grad * inverse_std^2 * n) / count.
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/norm/rows.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class T>
Moments root_of(const T* x, int64_t count, double epsilon) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += to_double(x[i]) * to_double(x[i]);
  return {0, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

/// All rows are in one piece, because they share the sums of scale and bias.
template <class Typed>
Plan prepare_rows_grad(const Problem& problem) {
  Plan plan = prepare_rows<Typed>(problem);
  plan.scratch = static_cast<size_t>(2 * count_elements(problem.in[1]->dims)) * sizeof(double);
  plan.phases = {1};
  return plan;
}

/// Operands of one row. T is the type of x, S the type of the scale and of the gradients of results.
template <class T, class S>
struct Row {
  const T* x;
  const S *scale, *out_grad;  ///< a gradient may be absent
  T* x_grad;
  double *scale_sums, *bias_sums;
  double mean_grad = 0, inverse_std_grad = 0;
};

template <bool centred, class T, class S, class Place>
void differentiate_row(const Row<T, S>& row, const RowState& state, const Place& place) {
  const Moments m = centred ? moments_of(row.x, state.row, state.epsilon) : root_of(row.x, state.row, state.epsilon);
  const auto normal = [&](int64_t i) { return (to_double(row.x[i]) - m.mean) * m.inverse_std; };
  const auto out_grad = [&](int64_t i) { return row.out_grad == nullptr ? 0 : to_double(row.out_grad[i]); };
  const auto along = [&](int64_t i) { return out_grad(i) * to_double(row.scale[place(i)]); };
  double sum = 0, product = 0;
  for (int64_t i = 0; i < state.row; ++i) {
    const double grad = out_grad(i);
    row.scale_sums[place(i)] += grad * normal(i);
    row.bias_sums[place(i)] += grad;
    sum += along(i);
    product += along(i) * normal(i);
  }
  const auto count = static_cast<double>(state.row);
  const double offset = centred ? sum / count : 0;
  const double slope = (product + row.inverse_std_grad * m.inverse_std) / count, shift = row.mean_grad / count;
  for (int64_t i = 0; i < state.row; ++i)
    row.x_grad[i] = from_double<T>((along(i) - offset - normal(i) * slope) * m.inverse_std + shift);
}

/// Element `row` of an optional operand, or 0.
double optional_number(const Call& call, size_t port, int64_t row) {
  if (port >= call.in.size() || !call.in[port].present()) return 0;
  return with_any_float(call.in[port].dtype, [&]<class E>() { return to_double(call.in[port].as<const E>()[row]); });
}

template <bool centred, class T, class S>
void differentiate_rows(const Call& call) {
  using In = LayerNormGrad::in;
  const auto& state = state_of<RowState>(call);
  const int64_t scales = call.in[1].size(), rows = state.row == 0 ? 0 : call.in[0].size() / state.row;
  auto* scale_sums = reinterpret_cast<double*>(call.scratch);
  double* bias_sums = scale_sums + scales;
  std::fill_n(scale_sums, 2 * scales, 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t begin = i * state.row;
    const Row<T, S> row{call.in[0].as<const T>() + begin,
                        call.in[1].as<const S>(),
                        call.in[2].present() ? call.in[2].as<const S>() + begin : nullptr,
                        call.out[0].as<T>() + begin,
                        scale_sums,
                        bias_sums,
                        optional_number(call, In::mean_grad, i),
                        optional_number(call, In::inverse_std_grad, i)};
    with_places(state, i, [&](const auto& place) { differentiate_row<centred>(row, state, place); });
  }
  for (int64_t i = 0; i < scales; ++i) {
    call.out[1].as<S>()[i] = from_double<S>(scale_sums[i]);
    if constexpr (centred) call.out[2].as<S>()[i] = from_double<S>(bias_sums[i]);
  }
}

Status run_layer_norm_grad(const Call& call, int, int64_t) {
  with_any_float(call.in[0].dtype, [&]<class T>() { differentiate_rows<true, T, T>(call); });
  return {};
}

Status run_rms_norm_grad(const Call& call, int, int64_t) {
  with_any_float(call.in[0].dtype, [&]<class T>() {
    with_any_float(call.in[1].dtype, [&]<class S>() { differentiate_rows<false, T, S>(call); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_layer_norm_grad{"reference", accept_all, prepare_rows_grad<LayerNormGrad>,
                                              run_layer_norm_grad};
extern const Kernel reference_rms_norm_grad{"reference", accept_all, prepare_rows_grad<RmsNormGrad>, run_rms_norm_grad};

}  // namespace halfstep::kernels
