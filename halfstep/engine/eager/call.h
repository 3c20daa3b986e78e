// Runs one operator on tensors, without a graph.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/eager/prepared.h"
#include "halfstep/engine/eager/signature.h"
#include "halfstep/engine/eager/team.h"

namespace halfstep::eager {

/// Runs `info` on operands in flat positions. An undefined tensor is absent, and trailing absent ones may be left out.
/// Returns results by port, undefined where the attributes switch them off. Results are newly allocated, operands are
/// only read. `attributes` may omit defaults. Checks and kernel selection run once for each combination of attributes
/// and types, while it is cached. A repeated small call takes well under a microsecond. Thread-safe. Throws an Error
/// that starts with "call: ".
std::vector<Tensor> call(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands);

/// The part of `call` that does not need memory: the cached call of the signature, or a newly prepared one. The
/// signature must belong to the same operator, attributes and operands.
std::shared_ptr<const Prepared> remembered(const Signature& signature);
std::shared_ptr<const Prepared> prepare(const Signature& signature, const OpInfo& info, const Attributes& attributes,
                                        std::span<const kernels::ConstView> operands);

}  // namespace halfstep::eager
