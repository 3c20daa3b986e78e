// One training step as one graph: forward, loss, backward, update.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/losses/loss_network.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::train {

/// Name of the argument for labels: i32 [rows of outputs], or f32 [rows, classes] for soft labels.
inline constexpr const char* kLabels = "labels";
inline constexpr const char* kLoss = "loss";  ///< name of the output, f32 [1]
/// Name of an output of a prepared network's step, f32 [1]: the norm of all gradients, in units of units.h.
inline constexpr const char* kGradientNorm = "gradient_norm";

/// Gradients of a prepared network are clipped to this norm.
inline constexpr double kClipNorm = 1.0;

/// The loss that a step minimizes.
enum class Loss {
  labels,       ///< softmax cross-entropy of the first output, [batch, classes] or [batch, ..., classes]
  soft_labels,  ///< cross-entropy with a share of each class
  given,        ///< a loss of outputs and targets (Beside::loss)
  teacher       ///< squared distance to a teacher's f32 outputs: the mean for each output, in units of its spread,
                ///< summed
};

/// Name of the argument for the teacher's values of an output.
std::string teacher_argument(const std::string& output);
/// Name of the state with the spread of an output, f32 [1].
std::string spread_tensor(const std::string& output);

/// Additions of a recipe to a step.
struct Beside {
  Spreads activations = {};     ///< spreads of further outputs, whose distance from a teacher's is added to the loss
  double scale_rate = 1;        ///< learning-rate multiplier for learned scales
  losses::NamedLoss loss = {};  ///< the loss for Loss::given
  std::map<std::string, Type> targets = {};  ///< targets that it can read
};

/// Appends the loss to `step`, a graph with known extents, with its arguments and state. `spreads` lists the outputs
/// whose distance from a teacher's is added, also to a loss of labels.
Value add_loss(Model& step, Loss loss, const Spreads& spreads, const Beside& beside = {});

/// A step of `model` (float, or prepared and then on codes) on arguments of these extents: the loss, gradients of every
/// parameter and the optimizer's update in place. Outputs are the loss and, for a prepared network, the norm of the
/// gradients before clipping. `spreads` lists the outputs in the teacher's loss.
/// Operations without a gradient count as constants, and parameters that no gradient reaches stay as they are. `notes`
/// tells both. Throws if no parameter can be trained.
Model training_graph(const Model& model, const std::map<std::string, Dims>& extents, Loss loss, const Spreads& spreads,
                     const passes::OptimizerSpec& optimizer, const Beside& beside = {},
                     std::vector<std::string>* notes = nullptr);

}  // namespace halfstep::train
