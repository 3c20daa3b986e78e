// Teachers of a network, without or in addition to labels: its own float form, or other networks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::train {

/// Throws if the network is not prepared. `data` names the samples in the message.
void require_teacher(const Model& model, const std::string& data);

/// The float form of a network before training. Throws like require_teacher.
Model teacher_of(const Model& model, const std::string& data);

/// `teacher` (of any stage) in evaluation form, for arguments of these extents. Its arguments and outputs are renamed
/// to those of `model`, by position. Throws bad_input with all differences of inputs, outputs and preprocessing. A
/// teacher without preprocessing takes that of `model`.
Model as_teacher(const Model& teacher, const Model& model, const std::map<std::string, Dims>& extents);

/// Names of the outputs that can be learned: f32, with the same extents in every run on inputs of these extents. A
/// loop, in contrast, may compute more or fewer rows than in the teacher. Throws if there are none.
std::vector<std::string> float_outputs(const Model& model, const std::map<std::string, Dims>& extents);

/// Spread of each f32 output of `teacher` over the samples. It is the root of the mean variance of its elements over
/// the first axis, at least 1/1000 of their root mean square, or 1 if that is 0. Distances in this unit do not depend
/// on the scale of a network's last layer. Uses at most 1,024 samples, selected by the seed, `batch` at a time.
/// Computed in float64 in a fixed order. Throws like float_outputs.
Spreads spreads_of(const Model& model, const Answers& teacher, const data::Samples& samples, int64_t batch,
                   uint64_t seed);

/// The teachers of one network.
struct Teachers {
  std::optional<BatchRunner> own;   ///< its float form: teaches activations, and outputs if there is no other teacher
  std::vector<BatchRunner> others;  ///< teach outputs, by their mean

  bool any() const { return own || !others.empty(); }
  /// The targets that replace labels, for these inputs.
  Tensors outputs(const Tensors& inputs);
  /// The targets and the activations.
  Tensors run(const Tensors& inputs);
  /// Like spreads_of, for all outputs of `wide`, which is `model` with activations.
  Spreads spreads(const Model& wide, const Model& model, const data::Samples& samples, int64_t batch, uint64_t seed);
};

}  // namespace halfstep::train
