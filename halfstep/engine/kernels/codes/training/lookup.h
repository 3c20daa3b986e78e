// Pointwise functions of codes: what tables of them are made of. docs/arithmetic.md, section 5.
#pragma once

#include "halfstep/core/arith/scalar_functions.h"
#include "halfstep/engine/kernels/codes/training/gradient.h"
#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

/// The function of an operator, at the code nearest to the given one that x may have.
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
  /// The value as a code before the clamp: NaN becomes `code_min`, infinities the ends of int32.
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

  /// By the call's scales.
  int64_t code(const Call& call, int64_t x_code) const;
};

/// What the gradient of a table has for a code of x.
struct LookupSlopes {
  float x = 0.0F;      ///< of the result over x, 0 where it is cut off
  double scale = 0.0;  ///< of the result over its scale
};

struct LookupGradRule {
  explicit LookupGradRule(const Attributes& given)
      : attributes(given), rule(requantize_rule(attributes)), function(attributes, given) {}
  LookupGrad attributes;
  RequantizeRule rule;
  CodesFunction function;

  /// By the call's scales.
  LookupSlopes slopes(const Call& call, int64_t x_code) const;
};

/// Where there is no function of that name, or no slope of it.
Verdict accept_lookup(const Problem& problem);
Verdict accept_lookup_grad(const Problem& problem);

}  // namespace halfstep::kernels
