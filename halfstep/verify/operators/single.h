// A graph with one operator, and its results from a Program or from the reference kernel.
#pragma once

#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {

/// Source of the operands. Kernels may read the contents of tensors when they are prepared. State in a tensor is
/// updated in place.
enum class OperandSource {
  arguments,  ///< all operands are arguments
  tensors     ///< the first operand is an argument unless it is state, others are tensors of the model
};
std::string_view name(OperandSource source);

/// A Model whose outputs are the operator's results, with the names of their ports.
struct Single {
  Model model;
  Op op;                                 ///< operation in the model's graph
  std::map<std::string, Tensor> inputs;  ///< inputs by argument
};

/// Throws Error if a rule of the record does not hold.
Single make_single(const Problem& problem, const std::vector<Tensor>& operands, OperandSource source);

/// Throws the errors of make_single, without needing contents.
void check_problem(const Problem& problem);

/// The order of float additions: that of the kernel, or that of the reference (CompileOptions::one_order).
enum class Order { any, one };

/// Runs the operator once, compiled without optimization. Returns results by port, undefined if not produced.
std::vector<Tensor> execute(const Single& single, CpuLevel level, Place place, ThreadPool& pool,
                            Order order = Order::any);

/// Results of the operator's reference kernel, by port, undefined if not produced.
std::vector<Tensor> reference_results(const Single& single, const std::vector<Tensor>& operands);

}  // namespace halfstep::verify
