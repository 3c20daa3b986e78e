// Keys of platform records that version 0.1 spelled otherwise. They are read until 0.3.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

namespace halfstep::quant {

/// The path as records spell it now: "features.rate" is "activations.rate".
std::string current_path(const std::string& path);

/// Renames the earlier keys of a record in place, which keeps their lines. Returns a note for each, such as
/// "edges is now first_and_last".
std::vector<std::string> rename_earlier_keys(const YAML::Node& root);

}  // namespace halfstep::quant
