// Checkpoints: Model files with the state that a run needs to continue.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/train/loop/fit.h"

namespace halfstep::train {

/// checkpoint_NNNN.safetensors, where NNNN is the number of finished epochs.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch);

/// The checkpoint of the highest epoch in `folder`.
std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder);

/// The validation results of the run in `folder`, from its last checkpoint. Throws if there is none.
TrainingHistory history_in(const std::filesystem::path& folder);

/// Removes the checkpoints of epochs after `epoch`. They belong to an earlier run.
void remove_checkpoints_after(const std::filesystem::path& folder, int64_t epoch);

/// Conditions of a resume: everything that determines the bits of the result.
struct RunKey {
  std::string start;                                          ///< digest of the network's contents before training
  std::string data_name;                                      ///< only for messages
  std::string data_digest;                                    ///< see content_digest
  std::vector<std::pair<std::string, std::string>> settings;  ///< names with values, in order
};

/// Writes `network` after the epoch (Fit::current) together with the run's state, and `key` in its metadata. The bytes
/// are deterministic. Writes the whole file or none.
void save_checkpoint(const std::filesystem::path& path, const Model& network, const TrainingState& state,
                     const RunKey& key);

/// Throws if the file belongs to another network, to other data or to other settings. The error names found and
/// expected values.
TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const RunKey& key);

}  // namespace halfstep::train
