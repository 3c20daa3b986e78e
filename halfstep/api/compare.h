// Two sets of values, layer by layer: what differs first, and what is most likely wrong.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/api/dump.h"
#include "halfstep/api/options.h"
#include "halfstep/verify/board/compare.h"

namespace halfstep::api {

/// A side as a path: a folder of dumps, a folder of bare files called as values are, a bare file, arrays of another
/// framework (npz, safetensors), or a Model. Arrays and bare files are taken for what the other side has under their
/// names. Throws with all that is missing, cut, empty or unknown; `data` is for Models among the two.
board::Comparison compare(const std::filesystem::path& first, const std::filesystem::path& second, const Dataset* data,
                          const CompareOptions& options = {}, const Settings& settings = {});

/// The same of a network in memory, as the first side.
board::Comparison compare(const Model& first, const std::filesystem::path& second, const Dataset& data,
                          const CompareOptions& options = {}, const Settings& settings = {});

/// Whether the path is a Model of ours, which needs samples to be compared.
bool is_network(const std::filesystem::path& path);

}  // namespace halfstep::api
