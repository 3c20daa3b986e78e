// Which kernel runs an operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/place.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/lower.h"

namespace halfstep::compiler {

/// Kernels for an operator at a place, best first; empty when there are none. sim runs the reference.
std::vector<const kernels::Kernel*> candidates(Place place, std::string_view op);

/// The first candidate that accepts, prepared.
struct Selection {
  const kernels::Kernel* kernel = nullptr;
  kernels::Plan plan;
  std::vector<runtime::Refusal> refused;  ///< candidates before it
};

/// Throws Error that starts with `where`: unsupported, with all refusals, when no candidate accepts.
Selection select_kernel(const kernels::Problem& problem, Place place, const std::string& where);

/// What goes into every Problem.
struct Selecting {
  CpuLevel level = CpuLevel::scalar;
  bool one_order = false;
  bool runs = true;
};

/// Sets kernel, plan and refusals of every instruction that is an operation: the first candidate that accepts. Frozen
/// tensors are constants for it. Throws Error (unsupported) with all refusals when none accepts.
void select_kernels(Lowering& lowering, const Model& model, const Selecting& how);

}  // namespace halfstep::compiler
