// Pointwise functions of codes: the entries of lookup tables (docs/arithmetic.md, section 5).
#pragma once

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/engine/kernels/codes/training/backward_rule.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// The function of an operator. A code outside of x's range is clamped to it first.
struct CodesFunction {
  template <class Typed>
  explicit CodesFunction(const Typed& attributes, const Attributes& given)
      : all(given),
        function(arith::find_function(attributes.function)),
        least(attributes.x_code_min),
        largest(attributes.x_code_max) {}

  int64_t near(int64_t code) const { return std::clamp(code, least, largest); }
  double value(const Operand& x, int64_t code) const { return function->value(at(x, code), all); }
  double slope(const Operand& x, int64_t code) const { return function->slope(at(x, code), all); }
  /// The value as a code before the clamp. NaN becomes `code_min`, and infinities the ends of int32.
  Requantized requantized(const Operand& x, int64_t code, float y_scale, int32_t y_zero_point, int64_t code_min) const;

  Attributes all;
  const arith::PointwiseFunction* function;
  int64_t least, largest;

 private:
  double at(const Operand& x, int64_t code) const {
    return static_cast<double>(x.steps(near(code))) * static_cast<double>(x.scale);
  }
};

struct LookupRule {
  explicit LookupRule(const Attributes& given) : attributes(given), function(attributes, given) {}
  QuantizedLookup attributes;
  CodesFunction function;

  /// Code of the result for a code of x, under the call's scales.
  int64_t code(const Call& call, int64_t x_code) const;
};

/// Entry of a gradient table for a code of x.
struct LookupSlopes {
  float x = 0.0F;      ///< derivative of the result over x, 0 where the code is clamped
  double scale = 0.0;  ///< derivative of the result over its scale
};

struct LookupGradRule {
  explicit LookupGradRule(const Attributes& given)
      : attributes(given), rule(requantize_rule(attributes)), function(attributes, given) {}
  LookupGrad attributes;
  RequantizeRule rule;
  CodesFunction function;

  /// Slopes for a code of x, under the call's scales.
  LookupSlopes slopes(const Call& call, int64_t x_code) const;
};

/// Refuse unknown functions, and for gradients functions without a derivative.
Verdict accept_lookup(const Problem& problem);
Verdict accept_lookup_grad(const Problem& problem);

}  // namespace halfstep::kernels
