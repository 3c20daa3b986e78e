// Checkpoints: a Model file that also holds what a run needs to go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/train/loop/fit.h"

namespace halfstep::train {

/// checkpoint_NNNN.safetensors, NNNN being the number of epochs done.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch);

/// The checkpoint of the highest epoch in `folder`.
std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder);

/// What the run in `folder` found on the samples that it held back, by its last checkpoint. Throws where there is none.
Course course_in(const std::filesystem::path& folder);

/// Removes the checkpoints of later epochs than `epoch`: those of an earlier run must not be taken for this one's.
void remove_checkpoints_after(const std::filesystem::path& folder, int64_t epoch);

/// What must agree on resuming: everything that decides the bits of the result.
struct RunKey {
  std::string start;                                          ///< digest of the network's contents before training
  std::string data_name;                                      ///< for messages alone
  std::string data_digest;                                    ///< content_digest
  std::vector<std::pair<std::string, std::string>> settings;  ///< names with values, in order
};

/// `network`, as it stands after the epoch (Fit::current), with the run's state beside it and `key` in its metadata.
/// Deterministic to the byte; whole or not there.
void save_checkpoint(const std::filesystem::path& path, const Model& network, const TrainingState& state,
                     const RunKey& key);

/// Throws when the file is of another network, of other data or was written with other settings, naming what was found
/// and what was expected.
TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const RunKey& key);

}  // namespace halfstep::train
