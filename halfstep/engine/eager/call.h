// One operator on tensors, without a graph.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/eager/prepared.h"
#include "halfstep/engine/eager/signature.h"
#include "halfstep/engine/eager/team.h"

namespace halfstep::eager {

/// Runs `info` on operands by flat position (undefined: absent; trailing absent ones may be left out); results by port,
/// undefined where the attributes switch them off. Results are fresh memory; operands are only read. `attributes` may
/// leave defaults out. Checks and the choice of a kernel happen once for each combination of attributes and types (as
/// long as it is remembered), so that a repeated small call costs well under a microsecond. Thread-safe. Throws Error
/// that starts with "call: ".
std::vector<Tensor> call(const OpInfo& info, const Attributes& attributes, std::span<const Tensor> operands);

/// The part of `call` before memory comes in: what it remembers under the signature, made from the rest where there is
/// nothing. The signature is that of the same operator, attributes and operands.
std::shared_ptr<const Prepared> remembered(const Signature& signature);
std::shared_ptr<const Prepared> prepare(const Signature& signature, const OpInfo& info, const Attributes& attributes,
                                        std::span<const kernels::ConstView> operands);

}  // namespace halfstep::eager
