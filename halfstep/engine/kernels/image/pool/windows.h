// Windows of the references of pooling.
#pragma once

#include <memory>

#include "halfstep/core/base/with_number_type.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/common/window.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

template <class Typed>
struct WindowState {
  PoolWindow window;
  Typed attributes;
};

template <class Typed>
std::shared_ptr<const WindowState<Typed>> window_state(const Problem& problem, const Type& x, const Type& out) {
  constexpr bool kLast = std::is_same_v<Typed, ChannelsLastMaxPool2d> || std::is_same_v<Typed, ChannelsLastAvgPool2d>;
  const Typed a(problem.attributes);
  return std::make_shared<WindowState<Typed>>(PoolWindow::of(a, x.dims, out.dims, kLast), a);
}

/// Calls the body for any element type that can be compared.
template <class Body>
void with_elements(DType dtype, Body&& body) {
  is_float(dtype) ? with_any_float(dtype, body) : with_number_type(dtype, body);
}

/// Position of the first largest element of a window, or -1 if the window is outside.
template <class T>
int64_t place_of_largest(const Window& g, const T* plane, int64_t step, const Axes& p) {
  int64_t best = -1;
  g.for_each_place(p, [&](int64_t at) {
    if (best < 0 || is_new_maximum(widen(plane[at * step]), widen(plane[best * step]))) best = at;
  });
  return best;
}

/// Codes of small floats cannot be compared as numbers.
inline Verdict accept_numbers(const Problem& problem) {
  const DType dtype = problem.in[0]->dtype;
  if (is_small_float(dtype))
    return refuse(errors::kernel_takes_other_types("x", name(dtype), "a type that is compared"));
  return accept();
}

}  // namespace halfstep::kernels
