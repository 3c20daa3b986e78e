// Options of verbs by name and text, as the command line, configuration files and Python set them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/limits.h"

namespace halfstep::api {

/// Interfaces that offer an option.
enum class OptionFace { all, command_line, python, none };

/// Description of an option, from an options.yaml. Lists are words separated by spaces.
struct OptionEntry {
  std::string_view name;
  std::string_view flag;        ///< "" for --NAME
  std::string_view short_flag;  ///< "-o", or ""
  std::string_view group, unit, doc;
  const Limits* range;  ///< null: no range
  std::string_view choices, earlier;
  std::string_view needs;     ///< another option that this one requires to have an effect
  std::string_view excludes;  ///< options that must not be given together with this one
  std::string_view type;
  std::string_view separator;  ///< separator of list elements; "": each element is a separate word
  int count;                   ///< number of list elements; 0: any
  OptionFace face;
  bool advanced, positional, required;

  /// Returns the flag, such as "--weight-bits".
  std::string long_flag() const;
};

struct VerbEntry {
  std::string_view name, summary, examples;  ///< examples: one per line
};

using Words = std::vector<std::string>;

/// An option and the variable that it sets.
struct BoundOption {
  const OptionEntry* entry;
  /// Sets the variable. Throws Error that starts with `where` for an invalid value.
  std::function<void(const Words& words, const std::string& where)> read;
  /// Returns the value as words that `read` accepts, or no words if the option is unset.
  std::function<Words()> words;
  bool is_switch = false;  ///< boolean option: its flag takes no value
  bool is_list = false;
};

/// Splits the words of a description.
Words words_in(std::string_view text);

/// Returns the option with this name. Throws unknown_option with the nearest name.
const BoundOption& option_named(const std::vector<BoundOption>& options, const std::string& name,
                                const std::string& where);

}  // namespace halfstep::api
