// Types for kernels that are written once for several float types.
#pragma once

#include <span>
#include <type_traits>

#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// Calls body.template operator()<T>() with the C++ type of f32 or f64.
template <class Body>
void with_float(DType dtype, Body&& body) {
  if (dtype == DType::f64) return body.template operator()<double>();
  HS_CHECK(dtype == DType::f32);
  body.template operator()<float>();
}

/// Type in which an element type is computed. Half precision is widened to float, and rounded when stored.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Calls body.template operator()<T>() with the C++ type of f32, f64, f16 or bf16: float, double, Half, BFloat16.
template <class Body>
decltype(auto) with_any_float(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f64: return body.template operator()<double>();
    case DType::f16: return body.template operator()<Half>();
    case DType::bf16: return body.template operator()<BFloat16>();
    default: break;
  }
  HS_CHECK(dtype == DType::f32);
  return body.template operator()<float>();
}

/// Refuses f16 and bf16 operands, because nothing computes in half precision.
inline Verdict accept_f32_f64(const Problem& problem) {
  for (const auto& types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type == nullptr || type->dtype == DType::f32 || type->dtype == DType::f64) continue;
      if (!is_float(type->dtype) && !is_small_float(type->dtype)) continue;
      return refuse(errors::kernel_takes_other_types("an operand", name(type->dtype), "f32 or f64"));
    }
  }
  return accept();
}

}  // namespace halfstep::kernels
