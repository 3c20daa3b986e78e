// Normalizations. Statistics are in double, with the variance in a second pass. Each element is rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/norm/rows.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class T>
void store(double value, T& dst) {
  dst = from_double<T>(value);
}

/// x[n, c, ...] in `groups` groups of neighbouring channels. Each group has one mean and variance.
struct GroupState {
  int64_t groups, group_channels, plane;
  bool by_channel;  ///< scale and bias are by channel, otherwise by group
  double epsilon;
};

template <class Typed>
Plan prepare_groups(const Problem& problem) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  int64_t groups = x[1], plane = 1;
  if constexpr (requires { a.num_groups; }) groups = a.num_groups;
  for (size_t i = 2; i < x.size(); ++i) plane *= x[i];
  const bool by_channel = problem.in[1]->dims[0] == x[1];
  return {.state = std::make_shared<GroupState>(groups, groups == 0 ? 0 : x[1] / groups, plane, by_channel, a.epsilon),
          .phases = {plane == 0 ? 0 : x[0] * groups}};
}

Status run_groups(const Call& call, int, int64_t piece) {
  const auto& g = state_of<GroupState>(call);
  const int64_t group = piece % g.groups, size = g.group_channels * g.plane;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>() + piece * size;
    T* dst = call.out[0].as<T>() + piece * size;
    const Moments m = moments_of(src, size, g.epsilon);
    for (int64_t c = 0; c < g.group_channels; ++c) {
      const int64_t channel = g.by_channel ? group * g.group_channels + c : group;
      const double scale = to_double(call.in[1].as<const T>()[channel]) * m.inverse_std;
      const double bias = to_double(call.in[2].as<const T>()[channel]);
      for (int64_t i = c * g.plane; i < (c + 1) * g.plane; ++i)
        store((to_double(src[i]) - m.mean) * scale + bias, dst[i]);
    }
  });
  return {};
}

template <class T>
void write_statistic(const View& out, int64_t piece, double value) {
  if (out.present()) out.as<T>()[piece] = from_double<T>(value);
}

Status run_layer_norm(const Call& call, int, int64_t piece) {
  using In = LayerNorm::in;
  using Out = LayerNorm::out;
  const auto& state = state_of<RowState>(call);
  with_any_float(call.out[Out::out_].dtype, [&]<class T>() {
    const T* src = call.in[In::x].as<const T>() + piece * state.row;
    const T* scale = call.in[In::scale].as<const T>();
    const T* bias = call.in[In::bias].as<const T>();
    T* dst = call.out[Out::out_].as<T>() + piece * state.row;
    const Moments m = moments_of(src, state.row, state.epsilon);
    with_places(state, piece, [&](const auto& place) {
      for (int64_t i = 0; i < state.row; ++i) {
        const double normal = (to_double(src[i]) - m.mean) * m.inverse_std * to_double(scale[place(i)]);
        store(bias == nullptr ? normal : normal + to_double(bias[place(i)]), dst[i]);
      }
    });
    if (!call.out[Out::mean].present()) return;
    with_any_float(call.out[Out::mean].dtype, [&]<class S>() {
      write_statistic<S>(call.out[Out::mean], piece, m.mean);
      write_statistic<S>(call.out[Out::inverse_std], piece, m.inverse_std);
    });
  });
  return {};
}

Status run_rms_norm(const Call& call, int, int64_t piece) {
  const auto& state = state_of<RowState>(call);
  with_any_float(call.in[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>() + piece * state.row;
    double squares = 0;
    for (int64_t i = 0; i < state.row; ++i) squares += to_double(src[i]) * to_double(src[i]);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(state.row) + state.epsilon);
    with_any_float(call.out[0].dtype, [&]<class S>() {
      const S* scale = call.in[1].as<const S>();
      S* dst = call.out[0].as<S>() + piece * state.row;
      with_places(state, piece, [&](const auto& place) {
        for (int64_t i = 0; i < state.row; ++i) store(to_double(src[i]) * inverse * to_double(scale[place(i)]), dst[i]);
      });
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_instance_norm{"reference", accept_all, prepare_groups<InstanceNorm>, run_groups};
extern const Kernel reference_group_norm{"reference", accept_all, prepare_groups<GroupNorm>, run_groups};
extern const Kernel reference_layer_norm{"reference", accept_all, prepare_rows<LayerNorm>, run_layer_norm};
extern const Kernel reference_rms_norm{"reference", accept_all, prepare_rows<RmsNorm>, run_rms_norm};

}  // namespace halfstep::kernels
