// Networks by the path a user gives. Internal to the face.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/ir/model.h"
#include "halfstep/train/preprocess.h"

namespace halfstep {

/// A Model of any stage: one of our files, or what another framework exported, whose open extents stay open.
Model load_network(const std::filesystem::path& path);

/// The same for samples of `data`: where a file cannot be translated with open extents, those of a sample are taken,
/// and if need be a batch of at most kFixedBatch samples, which is then the only one that the Model takes.
Model load_network(const std::filesystem::path& path, const std::string& data,
                   const std::optional<train::Preprocess>& preprocess);

inline constexpr int64_t kFixedBatch = 16;

}  // namespace halfstep
