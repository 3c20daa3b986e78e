// Validation results of a network: before training and after every epoch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "halfstep/core/ir/metadata/training_run.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/losses/loss_network.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::train {

/// The spread (standard deviation) of a teacher's outputs, by name, see teacher.h.
using Spreads = std::map<std::string, float>;

using halfstep::ValidationResult;

/// Minimum relative decrease of the loss to accept a state with the same validation accuracy. On so few samples, a
/// smaller decrease does not predict better decisions on others.
inline constexpr double kLeastGain = 0.25;

/// Validation results of a run, as stored in a checkpoint.
struct TrainingHistory : HistoryRecord {
  /// Adds the validation result of the next epoch. Returns whether it is the best so far.
  bool add(const ValidationResult& validation_result);
  /// Whether `validation_result` is better than the start: a lower loss with a higher accuracy, or with the same
  /// accuracy a loss lower by kLeastGain. Without an accuracy, the loss decides.
  bool gains(const ValidationResult& validation_result) const;
  /// Whether the last epoch has a lower accuracy or a higher loss than the start.
  bool ended_below() const;
};

/// For example "agreement 97.90 %, loss 0.0121".
std::string text_of(const TrainingHistory& history, const ValidationResult& validation_result);

/// For example "that of epoch 2", or "the network as it was given".
std::string best_text(const TrainingHistory& history);

/// Serializes as JSON. Equal values have equal text.
std::string to_text(const TrainingHistory& history);

/// Evaluates `model` (of any stage) on whole batches of `samples`. With a teacher, its outputs replace labels, and
/// distances are divided by `spreads`. With a null teacher, the samples must have labels.
ValidationResult evaluate_on(const Model& model, const data::Samples& samples, const Answers& teacher,
                             const Spreads& spreads, ThreadPool& pool, const IterationWatch& watch = {});
/// Evaluates the outputs of `answers` for the outputs of `model` by a loss. Without one, the first output learns
/// labels. With labels for the first output, the result has an accuracy.
ValidationResult evaluate_on(const Answers& answers, const Model& model, const data::Samples& samples,
                             const losses::NamedLoss& loss, ThreadPool& pool);
/// Evaluates the outputs of `model` itself.
ValidationResult evaluate_on(const Model& model, const data::Samples& samples, const losses::NamedLoss& loss,
                             ThreadPool& pool, const IterationWatch& watch = {});

}  // namespace halfstep::train
