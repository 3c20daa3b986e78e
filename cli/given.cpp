#include "cli/given.h"

#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

std::string flag_of(const std::vector<api::BoundOption>& options, const std::string& name) {
  for (const api::BoundOption& option : options) {
    if (option.entry->name == name) return option.entry->long_flag();
  }
  return name;
}

std::string shown(const api::OptionEntry& entry) {
  return entry.positional && entry.flag.empty() ? std::string(entry.name) : entry.long_flag();
}

/// Checks combinations of options: required companions are present, and excluded ones are absent.
void check_company(const std::string& verb, const api::OptionEntry& entry, const std::vector<api::BoundOption>& options,
                   const Given& given, bool complete, std::vector<Diagnostic>& found) {
  const bool is_given = given.has(std::string(entry.name));
  if (entry.required && !is_given && complete) found.push_back(errors::argument_missing(verb, shown(entry)));
  if (!is_given) return;
  if (!entry.needs.empty() && !given.has(std::string(entry.needs)))
    found.push_back(errors::option_needs_another(verb, shown(entry), flag_of(options, std::string(entry.needs))));
  for (const std::string& other : api::words_in(entry.excludes)) {
    if (given.has(other))
      found.push_back(errors::options_exclude_each_other(verb, shown(entry), flag_of(options, other)));
  }
}

}  // namespace

void set_options(const std::string& verb, const std::vector<api::BoundOption>& options, const Given& given,
                 bool complete) {
  std::vector<Diagnostic> found;
  for (const api::BoundOption& option : options) {
    if (option.entry->face == api::OptionFace::python) continue;
    check_company(verb, *option.entry, options, given, complete, found);
    const std::string name(option.entry->name);
    for (const auto* source : {&given.on_command_line, &given.in_file}) {
      const auto words = source->find(name);
      if (words == source->end()) continue;
      try {
        option.read(words->second.words, words->second.where);
      } catch (const Error& error) {
        found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
      break;
    }
  }
  fail_on_any(std::move(found));
}

}  // namespace halfstep::cli
