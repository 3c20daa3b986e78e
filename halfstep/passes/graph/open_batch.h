// A network that takes a fixed number of samples at once, as one that takes any number.
#pragma once

#include <optional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Whether the number of samples is open: kUnknown samples at once.
bool has_open_batch(const Model& model);

/// `model` with the batch of its arguments, their first axis, open. Reshapes that name it work it out, and stored
/// numbers that are joined with samples are repeated for each. Nothing where a result loses the batch on the way, and
/// where the batch of an argument is open or missing. Whether samples stay apart is not known from extents: the caller
/// compares what both networks give.
std::optional<Model> open_batch(const Model& model);

/// `opened`, which open_batch made of `fixed` and others changed since, with the batch of `fixed` again. A network that
/// is not opened stays as it is.
Model close_batch(Model opened, const Model& fixed);

}  // namespace halfstep::passes
