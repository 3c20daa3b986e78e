// Layer-by-layer comparison of two sets of values: the first difference and its likely cause.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/api/dump.h"
#include "halfstep/api/options.h"
#include "halfstep/verify/board/compare.h"

namespace halfstep::api {

/// Compares two paths. A side is a folder of dumps, a folder of bare files named after values, a bare file, arrays of
/// another framework (npz, safetensors), or a Model. Arrays and bare files are interpreted as the entries of the other
/// side with the same names. Throws with all missing, truncated, empty or unknown entries. `data` is for sides that are
/// Models.
board::Comparison compare(const std::filesystem::path& first, const std::filesystem::path& second, const Dataset* data,
                          const CompareOptions& options = {}, const Settings& settings = {});

/// Compares a network in memory, as the first side.
board::Comparison compare(const Model& first, const std::filesystem::path& second, const Dataset& data,
                          const CompareOptions& options = {}, const Settings& settings = {});

/// Whether the path is a Halfstep Model, so that a comparison needs samples.
bool is_network(const std::filesystem::path& path);

}  // namespace halfstep::api
