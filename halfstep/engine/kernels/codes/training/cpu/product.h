// Common parts of the CPU kernels for products of two values of codes.
#pragma once

#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/common/codes.h"

namespace halfstep::kernels::training {

/// Requantization of products, and the memory of the results.
struct ProductResult {
  arith::Requantizer requantizer;
  int32_t zero_point = 0;
  arith::Clamp clamp;
  DType out_type = DType::u8;
  void* out = nullptr;
  int32_t* unclamped = nullptr;  ///< present together with `real`, or absent
  float* real = nullptr;
};

/// Derives an operator's results from element `first` on. Returns an error if a zero point is not a code of its
/// operand, or if the scales have no multiplier.
template <class Typed>
Status derive(const Call& call, const RequantizeRule& rule, const Operand& a, const Operand& b, int64_t first,
              ProductResult& result) {
  using Out = typename Typed::out;
  for (const Operand* operand : {&a, &b}) {
    if (Status status = check_zero_point(operand->zero_point, operand->view.dtype); !status.ok()) return status;
  }
  const Target<Typed> y(call, rule);
  if (Status status = rule.for_product(a.scale, b.scale, y.scale, result.requantizer); !status.ok()) return status;
  const View &out = call.out[Out::out_], &unclamped = call.out[Out::unclamped];
  result.zero_point = y.zero_point;
  result.clamp = y.range;
  result.out_type = out.dtype;
  result.out = element_of(out, first);
  if (!unclamped.present()) return {};
  result.unclamped = unclamped.as<int32_t>() + first;
  result.real = call.out[Out::real].template as<float>() + first;
  return {};
}

}  // namespace halfstep::kernels::training
