// Converts a network of fixed batch size to one of dynamic batch size.
#pragma once

#include <optional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Whether the batch of any argument is dynamic (kUnknown).
bool has_dynamic_batch(const Model& model);

/// Returns `model` with a dynamic batch, which is the first axis of each argument. Reshapes infer the batch instead of
/// naming it. Stored numbers that are combined with samples are repeated for each sample. Returns nothing if a result
/// loses the batch, or if the batch of an argument is dynamic or missing. Extents cannot show that samples stay
/// separate, so the caller must compare the results of both networks.
std::optional<Model> dynamic_batch(const Model& model);

/// Restores the batch of `fixed` in `opened`, which dynamic_batch made from `fixed` and other code changed since. A
/// network without a dynamic batch stays unchanged.
Model close_batch(Model opened, const Model& fixed);

}  // namespace halfstep::passes
