// Reads the keys of a description.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <string>

#include "optiongen/description.h"

namespace halfstep::optiongen {

using Readers = std::map<std::string, std::function<void(const YAML::Node&)>>;

/// Passes each value of a mapping to the reader of its key. Throws Wrong for a key without a reader.
void read_keys(const YAML::Node& node, const std::string& where, const Readers& readers);
/// Returns text without the line break at its end.
std::string text_of(const YAML::Node& node);
/// Returns "FILE:LINE".
std::string place_of(const std::string& file, const YAML::Node& node);

/// Sets one key of an option. Throws Wrong for an unknown key.
void read_option_key(Option& option, const std::string& key, const YAML::Node& value);
Option read_option(const std::string& file, const YAML::Node& name, const YAML::Node& node);
Range read_range(const std::string& file, const YAML::Node& name, const YAML::Node& node);

}  // namespace halfstep::optiongen
