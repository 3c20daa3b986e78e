// A training run in a folder: a checkpoint after every epoch, the result at the end.
#pragma once

#include <filesystem>

#include "halfstep/train/fit.h"

namespace halfstep::train {

struct RunOptions {
  FitOptions fit;
  std::filesystem::path folder;
  bool resume = false;   ///< go on from the last checkpoint, or start afresh where there is none
  std::string settings;  ///< what else must agree on resuming, such as the data's name
};

struct RunOutcome {
  Model model;
  int64_t first_epoch = 0;    ///< epochs that were done before
  bool was_finished = false;  ///< nothing was left to do and nothing changed
  double loss = 0;            ///< of the last epoch
  StepTimes times;            ///< of the steps that were run
};

/// Trains `model` and writes checkpoint_NNNN.safetensors after each epoch and model.safetensors at the end. What a
/// killed run left is cleared or continued; an interrupted one (progress throws) leaves its last checkpoint.
/// A fresh run into the folder of an earlier one replaces its checkpoints as soon as it has one of its own.
RunOutcome run(const Model& model, const Samples& samples, const RunOptions& options, ThreadPool& pool,
               const ProgressCallback& progress = {});

}  // namespace halfstep::train
