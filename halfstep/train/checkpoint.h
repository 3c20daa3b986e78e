// Checkpoints: a Model file that also holds what a run needs to go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/train/fit.h"

namespace halfstep::train {

/// checkpoint_NNNN.safetensors, NNNN being the number of epochs done.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t epoch);

/// The checkpoint of the highest epoch in `folder`.
std::optional<std::filesystem::path> last_checkpoint(const std::filesystem::path& folder);

/// Removes the checkpoints of later epochs than `epoch`: those of an earlier run must not be taken for this one's.
void remove_checkpoints_after(const std::filesystem::path& folder, int64_t epoch);

/// The network with the run's state as further state tensors and `settings` as a note. Deterministic to the byte; whole
/// or not there.
void save_checkpoint(const std::filesystem::path& path, const Model& network, const TrainingState& state,
                     const std::string& settings);

/// Throws when the file is of another network or was written with other settings, naming both.
TrainingState load_checkpoint(const std::filesystem::path& path, const Model& network, const std::string& settings);

}  // namespace halfstep::train
