// Checks gradients against the rule that the record declares.
#pragma once

#include <functional>

#include "halfstep/verify/operators/outcome.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// Appends the gradients of an operation's operands to its graph. See passes::build_gradient.
using GradientBuilder = std::function<std::vector<Value>(Builder& builder, Op op, std::span<const Value> out_grads,
                                                         const std::vector<bool>& wanted)>;

/// Runs the gradient graph at `level` with random out_grads for the outputs. Every gradient must be finite and
/// have the shape of its operand. Its dtype is that of the operand if this is a float, else f32.
///
/// A true derivative is compared with central differences of the reference, in f64 if the reference supports it: for up
/// to 32 elements of each operand, and along a random direction through all elements. Straight-through rules, gradients
/// of codes, and gradients that the record excludes from differences are compared with the reference kernels of the
/// operators in the rule. The tolerances of their records are added. Without tolerances the bits must be equal. In half
/// precision, difference quotients are too inexact, so that a true derivative is compared with the same rule in f64.
Outcome check_gradient(const Problem& problem, const OpTest& record, uint64_t seed, const GradientBuilder& builder,
                       CpuLevel level, ThreadPool& pool);

}  // namespace halfstep::verify
