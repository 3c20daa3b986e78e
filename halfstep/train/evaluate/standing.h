// How a network does on samples that it does not learn from, epoch by epoch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "halfstep/core/ir/metadata/training_run.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::train {

/// The spread of a teacher's outputs, by name (see teacher.h).
using Spreads = std::map<std::string, float>;

using halfstep::Standing;

/// A state that is as right as the start on the samples held back has to come this much nearer to be worth a change: on
/// so few samples a smaller fall of the loss says nothing about decisions on others.
inline constexpr double kLeastGain = 0.25;

/// What a run found on the samples that it held back, as a checkpoint has it.
struct Course : CourseRecord {
  /// Whether this standing, the next epoch's, is the best so far.
  bool add(const Standing& standing);
  /// Whether its loss is lower than the start's and it is more right, or as right and lower by kLeastGain; where
  /// nothing says what is right, the loss decides.
  bool gains(const Standing& standing) const;
  /// Whether the last epoch is less right than the start, or its loss is higher.
  bool ended_below() const;
};

/// "agreement 97.90 %, loss 0.0121".
std::string text_of(const Course& course, const Standing& standing);

/// "that of epoch 2", or "the network as it was given".
std::string best_text(const Course& course);

/// As JSON; the same text for the same numbers.
std::string to_text(const Course& course);

/// `model` (of any stage) on whole batches of `samples`. With a teacher its answers stand for labels, each under its
/// spread; without one (a null function) the samples have labels.
Standing standing_of(const Model& model, const data::Samples& samples, const Answers& teacher, const Spreads& spreads,
                     ThreadPool& pool, const IterationWatch& watch = {});
/// The same of what `answers` have for the first outputs of `model`, against labels.
Standing standing_of(const Answers& answers, const Model& model, const data::Samples& samples);

}  // namespace halfstep::train
