// Selects the kernel of each operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/place.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/lower.h"

namespace halfstep::compiler {

/// Kernels for an operator on a device, best first, possibly none. sim uses the reference kernels.
std::vector<const kernels::Kernel*> candidates(Place place, std::string_view op);

/// The first candidate that accepts the operation, prepared.
struct Selection {
  const kernels::Kernel* kernel = nullptr;
  kernels::Plan plan;
  std::vector<runtime::Refusal> refused;  ///< candidates that refused before it
};

/// If no candidate accepts, throws an Error (unsupported) that starts with `where` and lists all refusals.
Selection select_kernel(const kernels::Problem& problem, Place place, const std::string& where);

/// Settings for every Problem.
struct Selecting {
  CpuLevel level = CpuLevel::scalar;
  bool one_order = false;
  bool runs = true;
};

/// Sets kernel, plan and refusals of every instruction that is an operation. The first candidate that accepts is taken.
/// Kernels see frozen tensors as constants. Throws an Error (unsupported) with all refusals if none accepts.
void select_kernels(Lowering& lowering, const Model& model, const Selecting& how);

}  // namespace halfstep::compiler
