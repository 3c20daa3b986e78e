// One training step as one graph: forward, loss, backward, update.
#pragma once

#include "halfstep/ir/model.h"
#include "halfstep/passes/optimizer.h"

namespace halfstep::train {

inline constexpr const char* kLabels = "labels";  ///< argument, i32 [batch]
inline constexpr const char* kLoss = "loss";      ///< output, f32 [1]

/// What a step makes small.
enum class Loss {
  labels,  ///< softmax cross-entropy of the first output, [batch, classes]
  teacher  ///< how far the outputs are from a teacher's: for each the mean of squares, summed
};

/// The argument that takes what the teacher has for an output.
std::string teacher_argument(const std::string& output);

/// The step of `model` (float or prepared; a prepared one runs on codes) on arguments of those extents: the loss,
/// gradients of every parameter, the optimizer's update in place. Its only output is the loss.
Model training_graph(const Model& model, const std::map<std::string, Dims>& extents, Loss loss,
                     const passes::OptimizerSpec& optimizer);

}  // namespace halfstep::train
