#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "cli/given.h"
#include "halfstep/api/errors.h"
#include "halfstep/core/files/file.h"

namespace halfstep::cli {
namespace {

api::Words words_of(const YAML::Node& node, const std::string& where) {
  if (node.IsScalar()) return {node.Scalar()};
  api::Words words;
  for (const YAML::Node& element : node) {
    if (!node.IsSequence() || !element.IsScalar())
      fail(errors::config_of_other_form(where, "a mapping or a list of lists", "a value or a list of values"));
    words.push_back(element.Scalar());
  }
  return words;
}

/// Key of an option in a file: its flag, with underscores.
std::string file_name(const api::OptionEntry& entry) {
  std::string name = entry.long_flag().substr(2);
  std::ranges::replace(name, '-', '_');
  return name;
}

const api::BoundOption& named(const std::vector<api::BoundOption>& options, std::string name,
                              const std::string& where) {
  std::ranges::replace(name, '-', '_');
  for (const api::BoundOption& option : options) {
    if (file_name(*option.entry) == name) return option;
  }
  return api::option_named(options, name, where);
}

YAML::Node load(const std::filesystem::path& file) {
  try {
    return YAML::Load(io::read_text_file(file));
  } catch (const YAML::Exception& error) {
    fail(errors::config_of_other_form(fmt::format("{}:{}", file.string(), error.mark.line + 1), error.msg, "YAML"));
  }
}

/// One value, quoted if YAML needs it.
std::string scalar(const std::string& word) {
  YAML::Emitter out;
  out << word;
  return out.c_str();
}

std::string value_text(const api::BoundOption& option) {
  const api::Words words = option.words();
  if (!option.is_list) return words.empty() ? "null" : scalar(words.front());
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + scalar(word);
  return "[" + text + "]";
}

std::string joined(const api::Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string origin(const std::string& name, const Given& given) {
  const auto file = given.in_file.find(name);
  const bool in_file = file != given.in_file.end();
  if (!given.on_command_line.contains(name)) return in_file ? given.file : "default";
  return in_file ? fmt::format("command line, over {} in {}", joined(file->second.words), given.file) : "command line";
}

}  // namespace

void read_config(const std::filesystem::path& file, const std::vector<api::BoundOption>& options, Given& given) {
  const YAML::Node root = load(file);
  given.file = file.string();
  if (!root.IsNull() && !root.IsMap())
    fail(errors::config_of_other_form(given.file, "no mapping", "names of options with their values"));
  std::vector<Diagnostic> found;
  for (const auto& pair : root) {
    const std::string at = fmt::format("{}:{}", given.file, pair.first.Mark().line + 1);
    try {
      const api::BoundOption& option = named(options, pair.first.Scalar(), at);
      if (pair.second.IsNull()) continue;
      const std::string where = fmt::format("{}: {}", at, pair.first.Scalar());
      const api::Words words = words_of(pair.second, where);
      const bool is_default = words == option.words();
      if (is_default && words.empty()) continue;  // "[]" for a list that is not set
      if (!given.in_file.emplace(option.entry->name, GivenWords{words, where, is_default}).second)
        fail(errors::config_of_other_form(where, "a second value", "one"));
    } catch (const Error& error) {
      found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  fail_on_any(std::move(found));
}

std::string config_text(const std::vector<api::BoundOption>& options, const Given& given) {
  std::string text, group;
  for (const api::BoundOption& option : options) {
    const api::OptionEntry& entry = *option.entry;
    if (entry.face == api::OptionFace::python) continue;
    if (entry.group != group) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", entry.group);
    group = entry.group;
    text += fmt::format("{}: {}  # {}\n", file_name(entry), value_text(option), origin(std::string(entry.name), given));
  }
  return text;
}

}  // namespace halfstep::cli
