// An option of a verb as the command line, a configuration file and Python set it: by name, from words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/limits.h"

namespace halfstep::api {

/// Which faces have an option.
enum class OptionFace { all, command_line, python, none };

/// The description of an option, from an options.yaml. Lists are words with spaces between them.
struct OptionEntry {
  std::string_view name;
  std::string_view flag;  ///< "" for --NAME
  std::string_view group, unit, doc;
  const Limits* range;  ///< null: any value
  std::string_view choices, earlier;
  std::string_view needs;     ///< another option, without which this one has no effect
  std::string_view excludes;  ///< options that cannot be given beside it
  std::string_view type;
  std::string_view separator;  ///< of the elements of a list; "" where each is a word of its own
  int count;                   ///< of the elements of a list; 0: any
  OptionFace face;
  bool advanced, positional, required;

  /// "--weight-bits".
  std::string long_flag() const;
};

struct VerbEntry {
  std::string_view name, summary, examples;  ///< examples: lines
};

using Words = std::vector<std::string>;

/// An option, and the variable that it sets.
struct BoundOption {
  const OptionEntry* entry;
  /// Sets the variable. Throws Error whose message starts with `where` for words that are none of its values.
  std::function<void(const Words& words, const std::string& where)> read;
  /// The value as words that `read` takes; none for an option that has no value.
  std::function<Words()> words;
  bool is_switch = false;  ///< true or false; its flag stands alone
  bool is_list = false;
};

/// Splits words of a description.
Words words_in(std::string_view text);

/// The option of that name. Throws unknown_option with the nearest one.
const BoundOption& option_named(const std::vector<BoundOption>& options, const std::string& name,
                                const std::string& where);

}  // namespace halfstep::api
