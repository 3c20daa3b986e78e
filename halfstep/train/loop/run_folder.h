// A training run, in memory or in a folder: there with a checkpoint after every epoch and the result at the end.
#pragma once

#include <filesystem>

#include "halfstep/train/loop/fit.h"

namespace halfstep::train {

struct RunOptions {
  FitOptions fit;
  std::filesystem::path folder;  ///< "": nothing is written
  bool resume = false;           ///< go on from the last checkpoint, or start afresh where there is none
  bool overwrite = false;        ///< replace an earlier run in the folder, instead of refusing to
};

struct RunOutcome {
  Model model;
  int64_t first_epoch = 0;               ///< epochs that were done before
  bool was_finished = false;             ///< nothing was left to do and nothing changed
  double loss = 0;                       ///< of the last epoch
  Course course;                         ///< on what was held back
  StepTimes times;                       ///< of the steps that were run
  int64_t frozen_weights = 0;            ///< that oscillated
  std::optional<std::string> note = {};  ///< where steps are not of as many samples as was asked for
  std::string renormalized;              ///< what became of running statistics; "" where the recipe leaves them
};

/// One epoch of `fit`; returns its mean loss. Where it fails and samples were held back, the file `result`, if one is
/// named, has the best state before it, and the error says so.
double run_epoch(Fit& fit, const std::filesystem::path& result, const ProgressCallback& progress,
                 std::string_view stage = "training");

/// The network that a run in `folder` ends with.
std::filesystem::path result_path(const std::filesystem::path& folder);

/// Throws where the folder has an earlier run, whose checkpoints a new one would take the place of.
void require_free(const std::filesystem::path& folder);
/// Removes what a run writes, and the folder where nothing else is in it.
void remove_run(const std::filesystem::path& folder);

/// Trains `model`; in a folder it writes checkpoint_NNNN.safetensors after each epoch and model.safetensors at the end.
/// A killed run is continued or replaced; an interrupted one (progress throws) leaves its last checkpoint. Where an
/// epoch fails, model.safetensors has the best state before it (with FitOptions::keep_best), and the error says so. A
/// fresh run into the folder of an earlier one is refused, or replaces its checkpoints as soon as it has one of its
/// own. Other files are left alone.
RunOutcome run(const Model& model, const data::Samples& samples, const RunOptions& options, ThreadPool& pool,
               const ProgressCallback& progress = {});

}  // namespace halfstep::train
