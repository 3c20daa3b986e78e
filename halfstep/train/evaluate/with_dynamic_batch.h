// Makes the batch dimension of a network dynamic, so that work does not depend on the batch size of its file.
#pragma once

#include <optional>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// `model` (of any stage) with a dynamic batch (passes::dynamic_batch), so that training and measurements do not depend
/// on the batch size of its file. passes::close_batch reverts it. Both forms must have the same bits on some test
/// samples. If they do not, or if the batch is already dynamic, returns `model` itself.
Model with_dynamic_batch(const Model& model, const data::Samples& samples, ThreadPool& pool);

/// Returns `model` with a dynamic batch, tested on `inputs`, which hold at least two batches of the model.
Model with_dynamic_batch(const Model& model, const Tensors& inputs, ThreadPool& pool);

/// A note if with_dynamic_batch could not make the batch of `model` dynamic: steps and results then depend on the batch
/// size.
std::optional<std::string> fixed_batch_note(const Model& model);

/// Inputs for with_dynamic_batch: samples from the first one, repeated if there are too few.
Tensors inputs_of_batches(const Model& model, const data::Samples& samples);

}  // namespace halfstep::train
