// Corrects a network after quantization, without training the whole network. See docs/guides/correct_accuracy.md.
//
//   prepared, calibrated network -> methods in order, each judged on held-out samples -> prepared network
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/tune/repair/options.h"

namespace halfstep::repair {

/// Tries all methods and keeps those that help.
inline constexpr const char* kAuto = "auto";

/// Description of a method for users.
struct MethodInfo {
  const char *name, *doc;
  bool is_costly = false;  ///< learns by gradients and takes minutes, other methods take seconds
  double enough = 0;       ///< `auto` skips the method if the distance to the float network is smaller
};

/// All methods in the order in which they are applied, from cheap to costly.
std::vector<MethodInfo> method_list();

/// Whether any method is requested.
inline bool any(const Options& options) { return !options.methods.empty(); }

/// Result of one method.
struct Step {
  std::string name;
  std::string what;                       ///< a sentence with numbers: the change, or the reason for none
  train::ValidationResult before, after;  ///< on held-out samples, equal without a change
  bool changed = false;                   ///< whether the method returned another network
  bool kept = false;                      ///< whether this network was better (gains) and is kept
  double seconds = 0;
};

struct Report {
  int64_t learned = 0, validation_split = 0;  ///< numbers of samples
  bool has_labels = false;                    ///< `right` is accuracy, without labels agreement with the float network
  std::vector<Step> steps;                    ///< in the order in which they were tried
  train::ValidationResult first, last;        ///< before the first step and after the last one
  std::optional<std::string> note = {};       ///< set if the network has a fixed batch (train::fixed_batch_note)
};

struct Outcome {
  Model model;
  Report report;
};

/// Throws for an unknown method. The message lists all methods.
void check_methods(const Options& options);

/// Throws if the folder has blocks of an earlier run and this run does not resume.
void require_free(const Options& options);

/// Removes the blocks of a run from its folder, and the folder if it is then empty. Call it after the result is saved.
void remove_checkpoints(const Options& options);

/// Corrects the calibrated network `prepared`. Holds out a part of the calibration samples (data::split_validation) as
/// a validation split. A method's result is kept if it is closer to the float network there, and not less accurate than
/// `prepared` (gains, in judge.h). Otherwise it is reverted. Returns `prepared` itself if no method helps. Throws if
/// there are too few samples, or if a layer computes NaN or infinities.
Outcome repair(const Model& prepared, const data::Samples& samples, const train::CalibrateOptions& calibration,
               const Options& options, ThreadPool& pool, const ProgressCallback& progress = {});

}  // namespace halfstep::repair
