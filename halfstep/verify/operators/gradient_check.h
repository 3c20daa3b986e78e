// Gradients, held against the rule that the record declares.
#pragma once

#include <functional>

#include "halfstep/verify/operators/outcome.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// Appends the gradients of an operation's operands to its graph; see passes::build_gradient.
using GradientBuilder = std::function<std::vector<Value>(Builder& builder, Op op, std::span<const Value> out_grads,
                                                         const std::vector<bool>& wanted)>;

/// Random out_grads go into the first output, and the gradient graph runs at `level`. Every gradient has the extents of
/// its operand, its dtype where that is a float and else f32, and is finite.
///
/// A true derivative is held against central differences of the reference, in f64 where it takes that: of up to 32
/// elements of each operand, and along a random direction through all. A straight-through rule, the gradient of codes,
/// and what the record excepts from differences is held against the reference kernels of the operators that the rule
/// names; the tolerances of their records add up, and none means equal bits. In half precision, where quotients say
/// nothing, a true derivative is held against the same rule in f64.
Outcome check_gradient(const Problem& problem, const OpTest& record, uint64_t seed, const GradientBuilder& builder,
                       CpuLevel level, ThreadPool& pool);

}  // namespace halfstep::verify
