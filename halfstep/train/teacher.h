// The float form of a prepared network, which it learns from where there are no labels.
#pragma once

#include "halfstep/train/standing.h"

namespace halfstep::train {

/// Throws for a network that is not prepared; `data` is what it was to learn from.
void require_teacher(const Model& model, const std::string& data);

/// The float form of a network as it is before training. Throws as require_teacher.
Model teacher_of(const Model& model, const std::string& data);

/// Names of the outputs that are f32 and have the same extents in every run on inputs of these extents: what there is
/// to learn from. Rows that a loop makes may be more or fewer than the teacher's. Throws where there are none.
std::vector<std::string> float_outputs(const Model& model, const std::map<std::string, Dims>& extents);

/// How far each f32 output of `teacher` spreads over the samples: the root of the mean variance of its elements, each
/// over the first axis; at least a thousandth of their root mean square, and 1 where that is 0. Distances in these
/// units are the same whatever factor a network's last layer has. Looks at no more than 1,024 samples, which the seed
/// chooses, `batch` at a time; float64 in a fixed order. Throws as float_outputs.
Spreads spreads_of(const Model& model, BatchRunner& teacher, const Samples& samples, int64_t batch, uint64_t seed);

}  // namespace halfstep::train
