// What products of two values of codes have in common on the CPU.
#pragma once

#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/common/codes.h"

namespace halfstep::kernels::training {

/// How products become codes, and where these go.
struct ProductResult {
  arith::Requantizer requantizer;
  int32_t zero_point = 0;
  arith::Clamp clamp;
  DType out_type = DType::u8;
  void* out = nullptr;
  int32_t* unclamped = nullptr;  ///< with `real`, or neither
  float* real = nullptr;
};

/// Of an operator's results from the element `first` on; an error where a zero point is none of its operand's codes, or
/// the scales have no multiplier.
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
