// Largest values of windows over one to three axes, and their places. Each element of a window is compared for all
// windows of a plane at once, from the first element to the last.
#include "halfstep/engine/kernels/image/pool/geometry.h"
#include "halfstep/engine/kernels/image/pool/windows.h"

namespace halfstep::kernels {
namespace {

/// Position in the plane if the first spatial axis counts fastest.
int64_t column_place(const Window& g, int64_t place) {
  const int64_t k = place % g.in[2], j = place / g.in[2] % g.in[1], i = place / g.in[2] / g.in[1];
  return i + g.in[0] * (j + g.in[1] * k);
}

Plan prepare_taps(const Problem& problem) {
  const auto state = window_state<MaxPool>(problem, *problem.in[0], *problem.out[0]);
  return {.state = state,
          .worker_scratch = static_cast<size_t>(state->window.out_plane()) * sizeof(int64_t),
          .phases = {state->window.planes()}};
}

/// Finds the largest elements and their places in the plane. -1 marks a window without elements.
template <class T>
void find_largest(PoolWindow g, const T* plane, T* dst, int64_t* places) {  // a copy, which bytes in dst cannot change
  std::fill_n(dst, g.out_plane(), static_cast<T>(lowest<Wide<T>>()));
  std::fill_n(places, g.out_plane(), int64_t{-1});
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    g.for_each_meeting(tap, [&](int64_t at, int64_t window) {
      const bool is_new = (places[window] < 0) | is_new_maximum(widen(plane[at]), widen(dst[window]));
      dst[window] = is_new ? plane[at] : dst[window];
      places[window] = is_new ? at : places[window];
    });
  }
}

Status run_taps(const Call& call, int, int64_t piece) {
  const auto& [g, a] = state_of<WindowState<MaxPool>>(call);
  const View& indices = call.out[MaxPool::out::indices];
  auto* places = reinterpret_cast<int64_t*>(call.worker_scratch);
  with_elements(call.out[0].dtype, [&, &g = g]<class T>() {
    find_largest(g, call.in[0].as<const T>() + g.x_at(piece), call.out[0].as<T>() + g.out_at(piece), places);
  });
  if (!indices.present()) return {};
  for (int64_t i = 0; i < g.out_plane(); ++i) {
    const int64_t place = a.storage_order == 0 || places[i] < 0 ? places[i] : column_place(g, places[i]);
    indices.as<int64_t>()[piece * g.out_plane() + i] = place < 0 ? -1 : piece * g.plane() + place;
  }
  return {};
}

}  // namespace

extern const Kernel reference_max_pool{"reference", accept_all, prepare_taps, run_taps};

}  // namespace halfstep::kernels
