// Option values that the user set, on the command line and in a configuration file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/inputs/option.h"

namespace halfstep::cli {

/// Words of an option, and their origin for messages.
struct GivenWords {
  api::Words words;
  std::string where;        ///< "train: --epochs", "run.yaml:3: epochs"
  bool is_default = false;  ///< a value in a file that is the default: it neither conflicts nor stands for a choice
};

/// Option values by the name of the option.
struct Given {
  std::map<std::string, GivenWords> on_command_line;
  std::map<std::string, GivenWords> in_file;
  std::string file;  ///< the configuration file, or ""

  /// Whether the user chose a value.
  bool has(const std::string& option) const {
    const auto found = in_file.find(option);
    return on_command_line.contains(option) || (found != in_file.end() && !found->second.is_default);
  }
};

/// Reads a configuration file: a YAML mapping from option names to values. Throws config_unreadable,
/// config_of_other_form, and unknown_option with the nearest name.
void read_config(const std::filesystem::path& file, const std::vector<api::BoundOption>& options, Given& given);

/// Sets the variables of the options. The command line has priority over the file. Throws one Error with all wrong
/// values and conflicting options, and with `complete` all missing ones.
void set_options(const std::string& verb, const std::vector<api::BoundOption>& options, const Given& given,
                 bool complete);

/// Returns the value of every option as a configuration file, each with its origin.
std::string config_text(const std::vector<api::BoundOption>& options, const Given& given);

}  // namespace halfstep::cli
