// One use of a Paddle quantizer: the common part of all of them, for the reference and the fast kernels.
#pragma once

#include <algorithm>
#include <string>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/paddle/rule.h"

namespace halfstep::kernels::paddle {

/// Source of the scale.
enum class ScaleFrom {
  given,    ///< an operand
  largest,  ///< the largest magnitude of each channel
  average,  ///< a moving average of the tensor's largest magnitude
  window    ///< the largest magnitude of the last window_size steps
};

/// Form of the result's elements.
enum class Writes { codes, values, copy };

struct Quantizer {
  DType dtype = DType::f32;
  Channels channels;
  Rule rule;
  ScaleFrom from = ScaleFrom::largest;
  Writes writes = Writes::codes;
  /// On axis 1, a run that starts with NaN is skipped. On other axes its scale is NaN.
  bool passes_over_nan = false;
  double rate = 0.9;
  int64_t window_size = 1;
  /// Operands by flat position, results by port. x is operand 0, and the elements are result 0.
  int scale = 0, accum = 0, state = 0, iter = 0, window = 0;
  int out_scale = 0, out_accum = 0, out_state = 0, out_window = 0;

  /// The scales by channel, as stored: those of the operand, or those that this call writes.
  template <class T>
  const T* scales(const Call& call) const {
    return from == ScaleFrom::given ? call.in[scale].as<const T>() : call.out[out_scale].as<const T>();
  }
};

/// The result has the form `writes`, unless an attribute asks for a copy.
template <class Op>
Quantizer quantizer_of(const Problem& problem, Writes writes) {
  using In = typename Op::in;
  using Out = typename Op::out;
  const Op op(problem.attributes);
  Quantizer q;
  q.dtype = problem.in[0]->dtype;
  q.writes = writes;
  int64_t axis = -1;
  if constexpr (requires { op.quant_axis; }) axis = op.quant_axis;
  q.channels = Channels::of(problem.in[0]->dims, axis);
  q.passes_over_nan = axis == 1;
  if constexpr (requires { op.qmax; }) {
    q.rule = Rule::of_qmax(op.qmax, op.round_type);
  } else if constexpr (requires { op.bit_length; }) {
    q.rule = Rule::of_bits(op.bit_length, op.round_type);
  }
  if constexpr (requires { op.only_observer; }) {
    if (op.only_observer) q.writes = Writes::copy;
  }
  if constexpr (requires { op.window_size; }) {
    q.from = ScaleFrom::window;
    q.window_size = op.window_size;
    q.iter = In::iter, q.window = In::in_window, q.out_window = Out::out_window;
  }
  if constexpr (requires { In::in_state; }) {
    if (axis < 0) q.from = ScaleFrom::average;
    q.accum = In::in_accum, q.state = In::in_state;
    q.out_accum = Out::out_accum, q.out_state = Out::out_state;
  }
  if constexpr (requires { op.moving_rate; }) q.rate = op.moving_rate;
  if constexpr (requires { In::in_scale; }) q.scale = In::in_scale;
  if constexpr (requires { In::scale; }) q.scale = In::scale;
  q.out_scale = Out::out_scale;
  if constexpr (requires { op.is_test; }) {
    if (op.is_test) q.from = ScaleFrom::given;
  }
  return q;
}

/// The straight-through gradient, which copies operand 0 to result 0 bit for bit.
inline Quantizer copier_of(const Problem& problem) {
  Quantizer q;
  q.dtype = problem.in[0]->dtype;
  q.channels = Channels::of(problem.in[0]->dims, -1);
  q.from = ScaleFrom::given;
  q.writes = Writes::copy;
  return q;
}

/// Computes a tensor's scale from its largest magnitude and writes it with the rest of the state. Results and operands
/// may share memory.
template <class T>
Status step(const Call& call, const Quantizer& q, Compute<T> largest) {
  using C = Compute<T>;
  T& scale = *call.out[q.out_scale].as<T>();
  if (q.from == ScaleFrom::average) {
    const auto next = Average<T, C>::of(*call.in[q.accum].as<const T>(), *call.in[q.state].as<const T>(), largest,
                                        static_cast<C>(q.rate));
    *call.out[q.out_accum].as<T>() = next.accum;
    *call.out[q.out_state].as<T>() = next.state;
    scale = next.scale;
  } else if (q.from == ScaleFrom::window) {
    const int64_t iter = *call.in[q.iter].as<const int64_t>();
    if (iter < 0) return Status(errors::quantizer_step_negative(iter));
    const C last = static_cast<C>(*call.in[q.scale].as<const T>());
    const T* before = call.in[q.window].as<const T>();
    T* window = call.out[q.out_window].as<T>();
    const C removed = static_cast<C>(before[iter % q.window_size]);
    if (window != before) std::copy_n(before, q.window_size, window);
    window[iter % q.window_size] = T(largest);
    scale = T(scale_of_window(window, q.window_size, iter, last, removed, largest));
  } else {
    scale = T(largest);
  }
  return {};
}

}  // namespace halfstep::kernels::paddle
