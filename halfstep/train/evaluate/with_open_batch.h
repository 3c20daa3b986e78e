// Work that goes by samples, whatever number of them a file takes at once.
#pragma once

#include <optional>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

/// `model`, of any stage, with an open batch (passes::open_batch), so that what is learned and measured does not depend
/// on the batch of its file; passes::close_batch takes it back. Both must give the same bits for the same samples, of
/// which some are tried: else, and where the batch is open, `model` itself.
Model with_open_batch(const Model& model, const data::Samples& samples, ThreadPool& pool);

/// The same on `inputs`, of at least two batches that the model takes.
Model with_open_batch(const Model& model, const Tensors& inputs, ThreadPool& pool);

/// What to say where the batch of `model`, which with_open_batch gave, is not open: steps and results follow it.
std::optional<std::string> fixed_batch_note(const Model& model);

/// Inputs for that: samples from the first on, again where there are too few.
Tensors inputs_of_batches(const Model& model, const data::Samples& samples);

}  // namespace halfstep::train
