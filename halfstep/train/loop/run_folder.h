// A training run, in memory or in a folder. In a folder it writes a checkpoint after every epoch, and the result at the
// end.
#pragma once

#include <filesystem>

#include "halfstep/train/loop/fit.h"

namespace halfstep::train {

struct RunOptions {
  FitOptions fit;
  std::filesystem::path folder;  ///< "": write nothing
  bool resume = false;           ///< continue from the last checkpoint, or start if there is none
  bool overwrite = false;        ///< replace an earlier run in the folder instead of refusing
};

struct RunOutcome {
  Model model;
  int64_t first_epoch = 0;              ///< number of epochs finished before
  bool was_finished = false;            ///< the run was complete and nothing changed
  double loss = 0;                      ///< mean loss of the last epoch
  TrainingHistory history;              ///< validation results
  StepTimes times;                      ///< times of the steps in this call
  int64_t frozen_weights = 0;           ///< number of weights frozen because they oscillated
  std::vector<std::string> notes = {};  ///< see Fit::notes
  std::string renormalized;             ///< report on running statistics, "" if the recipe keeps them
};

/// Runs one epoch of `fit` and returns its mean loss. If it fails and samples were held out, writes the best earlier
/// state to `result` (unless empty) and mentions it in the error.
double run_epoch(Fit& fit, const std::filesystem::path& result, const ProgressCallback& progress,
                 std::string_view stage = "training");

/// Path of the resulting network of a run in `folder`.
std::filesystem::path result_path(const std::filesystem::path& folder);

/// Throws if the folder has an earlier run, because a new one would replace its checkpoints.
void require_free(const std::filesystem::path& folder);
/// Removes the files of a run, and the folder if it is then empty.
void remove_run(const std::filesystem::path& folder);

/// Trains `model`. In a folder, it writes checkpoint_NNNN.safetensors after each epoch and model.safetensors at the
/// end. A killed run can be continued or replaced. An interrupted one (progress throws) keeps its last checkpoint. If
/// an epoch fails, model.safetensors has the best earlier state (with FitOptions::keep_best), and the error mentions
/// it. If the folder has an earlier run, throws, or with overwrite replaces its checkpoints once the new run has its
/// first. Other files stay untouched.
RunOutcome run(const Model& model, const data::Samples& samples, const RunOptions& options, ThreadPool& pool,
               const ProgressCallback& progress = {});

}  // namespace halfstep::train
