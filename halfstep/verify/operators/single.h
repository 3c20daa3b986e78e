// A graph of one operator, and its results by a Program or by the reference.
#pragma once

#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {

/// Where the operands come from. Kernels may look into the contents of tensors when they are prepared, and state that
/// is a tensor is updated in place.
enum class OperandSource {
  arguments,  ///< all are fed
  tensors     ///< the first is fed, unless it is state; the others are tensors of the model
};
std::string_view name(OperandSource source);

/// The graph's outputs are the operator's results, under the names of their ports.
struct Single {
  Model model;
  Op op;                                 ///< in the model's graph
  std::map<std::string, Tensor> inputs;  ///< by argument
};

/// Throws Error where a rule of the record does not hold.
Single make_single(const Problem& problem, const std::vector<Tensor>& operands, OperandSource source);

/// Throws what make_single would throw, without needing contents.
void check_problem(const Problem& problem);

/// In which order floats are added: that of the kernel, or that of the reference (CompileOptions::one_order).
enum class Order { any, one };

/// Compiled without optimization, run once: results by port, undefined where not produced.
std::vector<Tensor> execute(const Single& single, CpuLevel level, Place place, ThreadPool& pool,
                            Order order = Order::any);

/// By the operator's reference kernel, likewise.
std::vector<Tensor> reference_results(const Single& single, const std::vector<Tensor>& operands);

}  // namespace halfstep::verify
