// Kernels that are written once for float and double.
#pragma once

#include <span>

#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels {

/// Calls body.template operator()<T>() with the C++ type of f32 or f64.
template <class Body>
void with_float(DType dtype, Body&& body) {
  if (dtype == DType::f64) return body.template operator()<double>();
  HS_CHECK(dtype == DType::f32);
  body.template operator()<float>();
}

/// Nothing computes in half precision: f16 and bf16 operands are refused.
inline Verdict accept_f32_f64(const Problem& problem) {
  for (const auto& types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type == nullptr || !is_float(type->dtype) || type->dtype == DType::f32 || type->dtype == DType::f64) continue;
      return refuse("{} is stored but not computed in; f32 and f64 are", name(type->dtype));
    }
  }
  return accept();
}

/// What prepare put into the Plan.
template <class State>
const State& state_of(const Call& call) {
  return *static_cast<const State*>(call.state);
}

}  // namespace halfstep::kernels
