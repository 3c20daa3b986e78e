// A table's entries: a pointwise function of every code, in steps of the result. docs/arithmetic.md, section 5.
#pragma once

#include "halfstep/arith/function.h"
#include "halfstep/kernels/codes/training/results.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {

struct LookupRule {
  explicit LookupRule(const Attributes& given);
  Attributes all;
  QuantizedLookup attributes;
  const arith::PointwiseFunction* function;

  /// Of the code nearest to `code` that x may have, by the call's scales. NaN becomes code_min, infinities the ends of
  /// int32.
  Requantized entry(const Call& call, int64_t code) const;
  int64_t clamp(int64_t code) const { return std::clamp(code, attributes.code_min, attributes.code_max); }
};

Verdict accept_lookup(const Problem& problem);

}  // namespace halfstep::kernels
