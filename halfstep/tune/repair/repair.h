// Repair after quantization, without training the whole network: docs/guides/correct_accuracy.md.
//
//   prepared, calibrated network -> method after method, each judged on samples held back -> prepared network
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/tune/repair/options.h"

namespace halfstep::repair {

/// Tries all methods, and keeps what helps.
inline constexpr const char* kAuto = "auto";

/// What people choose among.
struct MethodInfo {
  const char *name, *doc;
  bool is_costly = false;  ///< learns by gradients: minutes, where the others take seconds
  double enough = 0;       ///< a distance to the float network at which `auto` leaves the method out
};

/// All of them, in the order in which they are applied, which is also that of their cost.
std::vector<MethodInfo> method_list();

/// Whether any method is asked for.
inline bool any(const Options& options) { return !options.methods.empty(); }

/// What one method did.
struct Step {
  std::string name;
  std::string what;               ///< a sentence with numbers: what it did, or why it did nothing
  train::Standing before, after;  ///< on the samples held back; the same where it did nothing
  bool changed = false;           ///< whether it made another network
  bool kept = false;              ///< which came out nearer to the float one (gains)
  double seconds = 0;
};

struct Report {
  int64_t learned = 0, held_back = 0;    ///< samples
  bool has_labels = false;               ///< `right` is accuracy; without labels it is agreement with the float network
  std::vector<Step> steps;               ///< in the order in which they were tried
  train::Standing first, last;           ///< before the first and after the last
  std::optional<std::string> note = {};  ///< where the batch of the network's file decides (train::fixed_batch_note)
};

struct Outcome {
  Model model;
  Report report;
};

/// Throws, with all names, for one that no method has.
void check_methods(const Options& options);

/// Throws where the folder has blocks of an earlier run and this one does not resume.
void require_free(const Options& options);

/// Removes the blocks that a run left in its folder, and the folder where nothing else is in it: for whoever has the
/// result.
void remove_checkpoints(const Options& options);

/// Repairs `prepared`, which is calibrated. Of the samples that calibration takes a part is held back
/// (data::hold_back) and decides: what a method made is kept where it is nearer to the float network there and no less
/// right than `prepared` (gains, in judge.h), else it is undone; the result is `prepared` itself where nothing helps.
/// Throws where there are too few samples, or a layer gives NaN or infinities.
Outcome repair(const Model& prepared, const data::Samples& samples, const train::CalibrateOptions& calibration,
               const Options& options, ThreadPool& pool, const ProgressCallback& progress = {});

}  // namespace halfstep::repair
