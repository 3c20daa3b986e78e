// One training step as one graph: forward, loss, backward, update.
#pragma once

#include "halfstep/ir/model.h"
#include "halfstep/passes/optimizer.h"

namespace halfstep::train {

inline constexpr const char* kLabels = "labels";  ///< argument, i32 [batch]
inline constexpr const char* kLoss = "loss";      ///< output, f32 [1]

/// The step of `model` (float or prepared; a prepared one runs on codes) on samples of extents `sample_dims`, batch
/// first: softmax cross-entropy of its first output, which must be [batch, classes], gradients of every parameter, the
/// optimizer's update in place. Its only output is the loss.
Model training_graph(const Model& model, const Dims& sample_dims, const passes::OptimizerSpec& optimizer);

}  // namespace halfstep::train
