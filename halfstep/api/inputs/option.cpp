#include "halfstep/api/inputs/option.h"

#include <algorithm>
#include <sstream>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/diagnostics/nearest.h"

namespace halfstep::api {

std::string OptionEntry::long_flag() const {
  if (!flag.empty()) return std::string(flag);
  std::string text = "--" + std::string(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

Words words_in(std::string_view text) {
  Words words;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

const BoundOption& option_named(const std::vector<BoundOption>& options, const std::string& name,
                                const std::string& where) {
  const auto is_it = [&](const BoundOption& option) { return option.entry->name == name; };
  if (const auto it = std::ranges::find_if(options, is_it); it != options.end()) return *it;
  Words names;
  for (const BoundOption& option : options) names.emplace_back(option.entry->name);
  fail(errors::unknown_option(where, name, did_you_mean(name, names)));
}

}  // namespace halfstep::api
