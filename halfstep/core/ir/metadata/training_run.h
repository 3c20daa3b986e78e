// State of a training run. A checkpoint stores it with the network. train/loop/checkpoint.h writes and reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halfstep {

/// Result of a network on validation samples.
struct ValidationResult {
  /// Accuracy: share of samples whose largest output is their label. Without labels: agreement with the teacher's
  /// largest output. Computed from the first output. Absent if there are no labels and this output has no classes ([n,
  /// classes], two or more).
  std::optional<double> right = {};
  double loss = 0;  ///< softmax cross-entropy; without labels the distance to the teacher, in units of the spread of
                    ///< its outputs

  bool operator==(const ValidationResult&) const = default;
};

/// Training history: results on the validation split.
struct HistoryRecord {
  int64_t samples = 0;      ///< number of held-out samples
  bool has_labels = false;  ///< true: `right` is accuracy; false: `right` is agreement with the teacher
  std::vector<ValidationResult> validation_results = {};  ///< before training, then after each epoch
  int64_t best = 0;  ///< epoch with the least loss among those that improve on the start; 0: none
  std::optional<ValidationResult> teacher = {};  ///< result of the teacher networks, if training uses them in addition
                                                 ///< to labels

  bool operator==(const HistoryRecord&) const = default;
};

/// Progress and settings of a training run, from which it can be resumed.
struct TrainingRun {
  int64_t epoch = 0;                                               ///< completed epochs
  std::string network = {};                                        ///< text of the trained graph
  std::string start = {};                                          ///< digest of the network's contents before training
  std::string data_name = {}, data_digest = {};                    ///< name and digest of the samples
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< names with values, in order
  HistoryRecord history = {};
  /// Prefixes of the names of copied tensors: current training state, moving average, and best epoch. "" if there is no
  /// such copy.
  std::string live = {}, average = {}, best = {};

  bool operator==(const TrainingRun&) const = default;
};

}  // namespace halfstep
