// One use of a Paddle dequantizer, shared by the reference and the fast kernels.
#pragma once

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/paddle/rule.h"

namespace halfstep::kernels::paddle {

struct Dequantizer {
  DType from = DType::f32;  ///< element type of x
  DType to = DType::f32;    ///< element type of the scales and the result
  Channels channels;
  double largest = 127.0;  ///< largest code
  bool copies = false;
  bool has_second = false;
  /// Operands by flat position. x is operand 0. The second scale is one number for the tensor.
  static constexpr int kScale = 1, kSecond = 2;
};

inline Dequantizer dequantizer_of(const DequantizeLinear& op, const Problem& problem) {
  static_assert(DequantizeLinear::in::scale == Dequantizer::kScale);
  return {.channels = Channels::of(problem.in[0]->dims, op.quant_axis),
          .largest = static_cast<double>(op.qmax),
          .copies = op.only_observer};
}

inline Dequantizer dequantizer_of(const FakeDequantizeMaxAbs& op, const Problem& problem) {
  static_assert(FakeDequantizeMaxAbs::in::scale == Dequantizer::kScale);
  return {.channels = Channels::of(problem.in[0]->dims, -1), .largest = op.max_range};
}

inline Dequantizer dequantizer_of(const FakeChannelWiseDequantizeMaxAbs& op, const Problem& problem) {
  static_assert(FakeChannelWiseDequantizeMaxAbs::in::scales == Dequantizer::kScale);
  const bool has_second = problem.in.size() > Dequantizer::kSecond;
  double largest = 1.0;
  for (const int64_t bits : op.quant_bits) largest *= static_cast<double>((int64_t{1} << (bits - 1)) - 1);
  return {.channels = Channels::of(problem.in[0]->dims, has_second ? op.x_num_col_dims : op.quant_axis),
          .largest = largest,
          .has_second = has_second};
}

template <class Op>
Dequantizer dequantizer_of(const Problem& problem) {
  Dequantizer d = dequantizer_of(Op(problem.attributes), problem);
  d.from = problem.in[0]->dtype;
  d.to = problem.out[0]->dtype;
  return d;
}

/// Calls body.template operator()<X, T>() with the element types of x and of the result.
template <class Body>
void with_dequantized_types(const Dequantizer& d, Body&& body) {
  with_any_float(d.to, [&]<class T>() {
    if (d.from == DType::i8) return body.template operator()<int8_t, T>();
    with_any_float(d.from, [&]<class X>() { body.template operator()<X, T>(); });
  });
}

/// Converts x to the type of the scales. f64 becomes a half type through f32.
template <class T, class X>
HS_HOST_DEVICE T cast_to(X x) {
  if constexpr (std::is_same_v<X, T>) return x;
  return T(static_cast<Compute<T>>(static_cast<Compute<X>>(x)));
}

}  // namespace halfstep::kernels::paddle
