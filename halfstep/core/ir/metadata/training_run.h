// The state of a training run, which a checkpoint has beside the network; train/loop/checkpoint.h writes and reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halfstep {

/// How a network does on samples that it does not learn from.
struct Standing {
  /// Share of samples whose largest output is their label, or without labels the teacher's largest. Of the first
  /// output; absent where that has no classes ([n, classes], two or more) and there are no labels.
  std::optional<double> right = {};
  double loss = 0;  ///< softmax cross-entropy, or without labels the distance to the teacher in its spreads

  bool operator==(const Standing&) const = default;
};

/// What a run found on the samples that it held back.
struct CourseRecord {
  int64_t samples = 0;                   ///< held back
  bool has_labels = false;               ///< `right` is accuracy; without labels it is agreement with the teacher
  std::vector<Standing> standings = {};  ///< before training, then after each epoch
  int64_t best = 0;                      ///< the epoch with the least loss of those that gain on the start; 0: none
  std::optional<Standing> teacher = {};  ///< that of other networks which are learned from beside labels

  bool operator==(const CourseRecord&) const = default;
};

struct TrainingRun {
  int64_t epoch = 0;                                               ///< epochs done
  std::string network = {};                                        ///< text of the graph that is trained
  std::string start = {};                                          ///< digest of its contents before training
  std::string data_name = {}, data_digest = {};                    ///< of the samples
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< names with values, in order
  CourseRecord course = {};
  /// What the names of the tensors begin with that are copies of others: as they are trained, their moving average, and
  /// those of the best epoch. "" for none.
  std::string live = {}, average = {}, best = {};

  bool operator==(const TrainingRun&) const = default;
};

}  // namespace halfstep
