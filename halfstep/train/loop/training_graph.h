// One training step as one graph: forward, loss, backward, update.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::train {

/// Argument, i32 [rows of outputs], or f32 [rows, classes] of soft ones.
inline constexpr const char* kLabels = "labels";
inline constexpr const char* kLoss = "loss";  ///< output, f32 [1]
/// Output of a step of a prepared network: the norm of all gradients in units, f32 [1].
inline constexpr const char* kGradientNorm = "gradient_norm";

/// Gradients of a prepared network are clipped to this norm.
inline constexpr double kClipNorm = 1.0;

/// What a step makes small.
enum class Loss {
  labels,       ///< softmax cross-entropy of the first output, [batch, classes] or [batch, ..., classes]
  soft_labels,  ///< the same with a share of each class
  teacher       ///< how far the f32 outputs are from a teacher's: for each the mean of squares in units of its spread,
                ///< summed
};

/// The argument that takes what the teacher has for an output.
std::string teacher_argument(const std::string& output);
/// The state that keeps the spread of an output, f32 [1].
std::string spread_tensor(const std::string& output);

/// What a recipe adds to a step.
struct Beside {
  Spreads features = {};  ///< of further outputs, whose distance from a teacher's counts beside the loss
  double scale_rate = 1;  ///< at how many times the learning rate learned scales move
};

/// Appends the loss to `step`, a graph of known extents, with the arguments and the state that it reads. `spreads`: of
/// the outputs whose distance from a teacher's counts, beside a loss of labels too.
Value add_loss(Model& step, Loss loss, const Spreads& spreads);

/// The step of `model` (float or prepared; a prepared one runs on codes) on arguments of those extents: the loss,
/// gradients of every parameter, the optimizer's update in place. Its outputs are the loss and, of a prepared network,
/// the norm that gradients had before they were clipped. `spreads`: of the outputs that the teacher's loss counts.
Model training_graph(const Model& model, const std::map<std::string, Dims>& extents, Loss loss, const Spreads& spreads,
                     const passes::OptimizerSpec& optimizer, const Beside& beside = {});

}  // namespace halfstep::train
