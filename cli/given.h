// What the user gave for the options of a verb, on the command line and in a configuration file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/inputs/option.h"

namespace halfstep::cli {

/// Words of an option, and their place for messages.
struct GivenWords {
  api::Words words;
  std::string where;  ///< "train: --epochs", "run.yaml:3: epochs"
};

/// By name of the option.
struct Given {
  std::map<std::string, GivenWords> on_command_line;
  std::map<std::string, GivenWords> in_file;
  std::string file;  ///< the configuration file; "" for none

  bool has(const std::string& option) const { return on_command_line.contains(option) || in_file.contains(option); }
};

/// Reads a configuration file: a YAML mapping from names of options to values. Values that are the default are as if
/// they were not there. Throws config_unreadable,
/// config_of_other_form, and unknown_option with the nearest name.
void read_config(const std::filesystem::path& file, const std::vector<api::BoundOption>& options, Given& given);

/// Sets the variables of the options. Words of the command line come before those of the file. Throws one Error with
/// every wrong value and option that does not go with another, and with `complete` every missing option.
void set_options(const std::string& verb, const std::vector<api::BoundOption>& options, const Given& given,
                 bool complete);

/// The value of every option as a configuration file, each with its origin.
std::string config_text(const std::vector<api::BoundOption>& options, const Given& given);

}  // namespace halfstep::cli
