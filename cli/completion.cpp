#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

using Words = std::vector<std::string>;

/// Words before the cursor. The last one ends at the cursor and may be empty.
Words words_of(std::string line) {
  Words words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  if (line.empty() || line.back() == ' ') words.emplace_back();
  return words;
}

std::string line_before_cursor() {
  const char* line = std::getenv("COMP_LINE");
  const char* point = std::getenv("COMP_POINT");
  if (line == nullptr || point == nullptr) fail(errors::no_line_to_complete(kComplete));
  return std::string(line).substr(0, std::strtoul(point, nullptr, 10));
}

Words command_names(const CLI::App& program) {
  Words names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // a former spelling
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Reads the choices of an option from its help, where they appear as {A,B}.
Words choices_of(const CLI::Option* option) {
  Words choices;
  const std::string type = option == nullptr ? "" : option->get_type_name();
  const size_t open = type.find('{');
  if (open == std::string::npos) return choices;
  std::istringstream stream(type.substr(open + 1, type.find('}') - open - 1));
  for (std::string choice; std::getline(stream, choice, ',');) choices.push_back(choice);
  return choices;
}

const CLI::App* command_in(const CLI::App& program, const std::string& name) {
  const auto found = program.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// Words that can replace the last one and begin with it. `word` is the part that bash replaces.
Words candidates(const CLI::App& program, const Words& words, std::string& word) {
  word = words.back();
  const CLI::App* command = words.size() > 2 ? command_in(program, words[1]) : nullptr;
  if (words.size() == 2 && !word.starts_with('-')) return command_names(program);
  if (command == nullptr) return words.size() == 2 ? option_names(program) : Words();
  if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
    const std::string name = word.substr(0, equals);
    word.erase(0, equals + 1);
    return choices_of(command->get_option_no_throw(name));
  }
  if (word.starts_with('-')) return option_names(*command);
  const std::string& before = words[words.size() - 2];
  if (before.starts_with('-')) return choices_of(command->get_option_no_throw(before));
  if (words.size() == 3) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) return choices_of(option);
    }
  }
  return {};
}

}  // namespace

int print_completions(const CLI::App& program) {
  std::string word;
  for (const std::string& candidate : candidates(program, words_of(line_before_cursor()), word)) {
    if (candidate.starts_with(word)) fmt::print("{}\n", candidate);
  }
  return kDone;
}

}  // namespace halfstep::cli
