#include "optiongen/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halfstep::optiongen {
namespace {

Face face_of(const std::string& text, const std::string& where) {
  static const std::map<std::string, Face> kFaces = {
      {"command_line", Face::command_line}, {"python", Face::python}, {"none", Face::none}};
  const auto it = kFaces.find(text);
  if (it == kFaces.end())
    throw Wrong(fmt::format("{}: face: found '{}', expected command_line, python or none", where, text));
  return it->second;
}

using Changes = std::map<std::string, std::map<std::string, std::string>>;

Changes changes_of(const YAML::Node& node) {
  Changes changes;
  for (const auto& pair : node) {
    for (const auto& key : pair.second)
      changes[pair.first.as<std::string>()][key.first.as<std::string>()] = text_of(key.second);
  }
  return changes;
}

}  // namespace

std::string text_of(const YAML::Node& node) {
  auto text = node.IsNull() ? std::string() : node.as<std::string>();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string place_of(const std::string& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file, node.Mark().line + 1);
}

void read_keys(const YAML::Node& node, const std::string& where, const Readers& readers) {
  for (const auto& pair : node) {
    const auto key = pair.first.as<std::string>();
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      std::vector<std::string> keys;
      for (const auto& [name, read] : readers) keys.push_back(name);
      throw Wrong(fmt::format("{}: found the key '{}', expected one of {}", where, key, fmt::join(keys, ", ")));
    }
    reader->second(pair.second);
  }
}

void read_option_key(Option& option, const std::string& key, const YAML::Node& value) {
  const auto text = [](std::string& to) { return [&to](const YAML::Node& node) { to = text_of(node); }; };
  const auto flag = [](bool& to) { return [&to](const YAML::Node& node) { to = node.as<bool>(); }; };
  const auto words = [](std::vector<std::string>& to) {
    return [&to](const YAML::Node& node) { to = node.as<std::vector<std::string>>(); };
  };
  const Readers readers = {
      {"type", text(option.type)},
      {"struct", text(option.structure)},
      {"name", text(option.name)},
      {"field", text(option.field)},
      {"flag", text(option.flag)},
      {"short", text(option.short_flag)},
      {"group", text(option.group)},
      {"doc", text(option.doc)},
      {"unit", text(option.unit)},
      {"range", text(option.range)},
      {"enum", text(option.enumeration)},
      {"python", text(option.python)},
      {"separator", text(option.separator)},
      {"needs", text(option.needs)},
      {"excludes", text(option.excludes)},
      {"choices", words(option.choices)},
      {"earlier", words(option.earlier)},
      {"only", words(option.only)},
      {"without", words(option.without)},
      {"list", flag(option.list)},
      {"optional", flag(option.optional)},
      {"advanced", flag(option.advanced)},
      {"positional", flag(option.positional)},
      {"required", flag(option.required)},
      {"count", [&](const YAML::Node& node) { option.count = node.as<int>(); }},
      {"face", [&](const YAML::Node& node) { option.face = face_of(text_of(node), option.where); }},
      {"change", [&](const YAML::Node& node) { option.change = changes_of(node); }},
      {"default",
       [&](const YAML::Node& node) {
         option.default_text = text_of(node);
         option.has_default = true;
       }},
  };
  YAML::Node one;
  one[key] = value;
  read_keys(one, option.where, readers);
}

Option read_option(const std::string& file, const YAML::Node& name, const YAML::Node& node) {
  Option option;
  option.name = option.field = name.as<std::string>();
  option.where = fmt::format("{}: {}", place_of(file, name), option.name);
  for (const auto& pair : node) read_option_key(option, pair.first.as<std::string>(), pair.second);
  if (option.type.empty() == option.structure.empty())
    throw Wrong(fmt::format("{}: an option has either a type or a struct", option.where));
  if (option.structure.empty() && option.face != Face::none && option.doc.empty())
    throw Wrong(fmt::format("{}: an option has a doc", option.where));
  return option;
}

Range read_range(const std::string& file, const YAML::Node& name, const YAML::Node& node) {
  Range range;
  range.name = name.as<std::string>();
  const auto ends = [&](bool whole) {
    return [&range, whole](const YAML::Node& pair) {
      range.least = pair[0].as<double>();
      range.most = pair[1].as<double>();
      range.whole = whole;
    };
  };
  read_keys(node, place_of(file, name) + ": " + range.name,
            {{"integers", ends(true)},
             {"floats", ends(false)},
             {"above", [&](const YAML::Node& is) { range.above = is.as<bool>(); }},
             {"below", [&](const YAML::Node& is) { range.below = is.as<bool>(); }}});
  return range;
}

}  // namespace halfstep::optiongen
