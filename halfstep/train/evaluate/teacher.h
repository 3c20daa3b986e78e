// What a network learns from where there are no labels, or beside them: its own float form, or another network.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::train {

/// Throws for a network that is not prepared; `data` is what it was to learn from.
void require_teacher(const Model& model, const std::string& data);

/// The float form of a network as it is before training. Throws as require_teacher.
Model teacher_of(const Model& model, const std::string& data);

/// `teacher`, of any stage, as what `model` may learn from on arguments of these extents: the form that evaluates it,
/// its arguments and outputs under the names that `model` has for them, by position. Throws bad_input with all that
/// sets them apart: inputs, outputs, how samples are preprocessed (a teacher that says nothing takes what `model`
/// takes).
Model as_teacher(const Model& teacher, const Model& model, const std::map<std::string, Dims>& extents);

/// Names of the outputs that are f32 and have the same extents in every run on inputs of these extents: what there is
/// to learn from. Rows that a loop makes may be more or fewer than the teacher's. Throws where there are none.
std::vector<std::string> float_outputs(const Model& model, const std::map<std::string, Dims>& extents);

/// How far each f32 output of `teacher` spreads over the samples: the root of the mean variance of its elements, each
/// over the first axis; at least a thousandth of their root mean square, and 1 where that is 0. Distances in these
/// units are the same whatever factor a network's last layer has. Looks at no more than 1,024 samples, which the seed
/// chooses, `batch` at a time; float64 in a fixed order. Throws as float_outputs.
Spreads spreads_of(const Model& model, const Answers& teacher, const data::Samples& samples, int64_t batch,
                   uint64_t seed);

/// Those that one network learns from.
struct Teachers {
  std::optional<BatchRunner> own;   ///< its float form: of features, and of outputs where there is no other
  std::vector<BatchRunner> others;  ///< of outputs, in the mean

  bool any() const { return own || !others.empty(); }
  /// What stands for labels, for these inputs.
  Tensors outputs(const Tensors& inputs);
  /// The same and features.
  Tensors run(const Tensors& inputs);
  /// As spreads_of, of all outputs of `wide`, which is `model` with features.
  Spreads spreads(const Model& wide, const Model& model, const data::Samples& samples, int64_t batch, uint64_t seed);
};

}  // namespace halfstep::train
