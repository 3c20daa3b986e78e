#include "optiongen/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "optiongen/read.h"

namespace halfstep::optiongen {
namespace {

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Struct read_struct(const std::string& file, const std::string& space, const YAML::Node& name, const YAML::Node& node) {
  Struct made;
  made.name = name.as<std::string>();
  made.space = space;
  std::string type = made.name;
  read_keys(node, place_of(file, name) + ": " + made.name,
            {{"doc", [&](const YAML::Node& text) { made.doc = text_of(text); }},
             {"group", [&](const YAML::Node& text) { made.group = text_of(text); }},
             {"type", [&](const YAML::Node& text) { type = text_of(text); }},
             {"header", [&](const YAML::Node& text) { made.header = text_of(text); }},
             {"options", [&](const YAML::Node& options) {
                for (const auto& pair : options) made.options.push_back(read_option(file, pair.first, pair.second));
              }}});
  made.type = space + "::" + type;
  return made;
}

PythonFace read_python(const std::string& file, const YAML::Node& node) {
  PythonFace face;
  const auto text = [](std::string& to) { return [&to](const YAML::Node& value) { to = text_of(value); }; };
  const auto pairs = [](std::vector<std::pair<std::string, std::string>>& to) {
    return [&to](const YAML::Node& map) {
      for (const auto& pair : map) to.emplace_back(pair.first.as<std::string>(), text_of(pair.second));
    };
  };
  read_keys(
      node, place_of(file, node) + ": python",
      {{"function", text(face.function)},
       {"inputs", text(face.inputs)},
       {"returns", text(face.returns)},
       {"summary", text(face.summary)},
       {"doc", text(face.doc)},
       {"returns_doc", text(face.returns_doc)},
       {"raises", pairs(face.raises)},
       {"example", text(face.example)},
       {"earlier", [&](const YAML::Node& names) { face.earlier = names.as<std::map<std::string, std::string>>(); }},
       {"args", pairs(face.args)}});
  if (face.raises.empty() || face.example.empty())
    throw Wrong(place_of(file, node) + ": python: found no raises or no example, expected both");
  return face;
}

/// Converts "quickstart" to "QuickstartCommand".
std::string command_name(std::string verb) {
  verb[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(verb[0])));
  return verb + "Command";
}

/// The sentence of an option begins with a word. A literal would get a capital in documentation.
void check_sentence(const Option& option) {
  const std::string first = option.doc.substr(0, option.doc.find(' '));
  const bool is_word = first.find_first_of("=<>:*/.0123456789") == std::string::npos || first.ends_with(':');
  if (!is_word || has(option.choices, first))
    throw Wrong(fmt::format("{}: found a sentence that begins with '{}', expected a verb or a noun", option.where, first));
}

}  // namespace

bool Range::contains(double number) const {
  return std::isfinite(number) && (above ? number > least : number >= least) &&
         (below ? number < most : number <= most) && (!whole || number == std::floor(number));
}

std::string Range::text() const {
  if (whole && most >= 1e9) return fmt::format("at least {:.0f}", least);
  if (whole) return fmt::format("{:.0f} to {:.0f}", least, most);
  return fmt::format("{} {:g} and {} {:g}", above ? "above" : "at least", least, below ? "below" : "at most", most);
}

void Descriptions::add_room(const std::string& file) {
  Room room;
  room.folder = std::filesystem::path(file).parent_path().string();
  YAML::Node structs, ranges;
  read_keys(YAML::LoadFile(file), file,
            {{"namespace", [&](const YAML::Node& text) { room.space = text_of(text); }},
             {"includes", [&](const YAML::Node& list) { room.includes = list.as<std::vector<std::string>>(); }},
             {"ranges", [&](const YAML::Node& node) { ranges = node; }},
             {"structs", [&](const YAML::Node& node) { structs = node; }}});
  for (const auto& pair : ranges) room.ranges.push_back(read_range(file, pair.first, pair.second));
  for (const auto& pair : structs) room.structs.push_back(read_struct(file, room.space, pair.first, pair.second));
  rooms_.push_back(std::move(room));
}

void Descriptions::add_verb(const std::string& file) {
  Verb verb;
  verb.name = std::filesystem::path(file).stem().string();
  verb.command.name = command_name(verb.name);
  verb.command.space = "api";
  verb.command.type = "api::" + verb.command.name;
  verb.command.group = "Output";
  Option common;
  common.name = common.field = "common";
  common.structure = "api::CommonOptions";
  common.where = file;
  read_keys(YAML::LoadFile(file), file,
            {{"summary", [&](const YAML::Node& text) { verb.summary = verb.command.doc = text_of(text); }},
             {"examples", [&](const YAML::Node& list) { verb.examples = list.as<std::vector<std::string>>(); }},
             {"without", [&](const YAML::Node& list) { common.without = list.as<std::vector<std::string>>(); }},
             {"python", [&](const YAML::Node& node) { verb.python = read_python(file, node); }},
             {"options", [&](const YAML::Node& options) {
                for (const auto& pair : options)
                  verb.command.options.push_back(read_option(file, pair.first, pair.second));
              }}});
  verb.command.options.push_back(common);
  verbs_.push_back(std::move(verb));
}

const Struct& Descriptions::structure(const Option& member) const {
  for (const Room& room : rooms_) {
    for (const Struct& one : room.structs) {
      if (one.type == member.structure) return one;
    }
  }
  throw Wrong(fmt::format("{}: found the struct '{}', which no options.yaml has", member.where, member.structure));
}

const Room& Descriptions::owner(const Struct& structure) const {
  for (const Room& room : rooms_) {
    for (const Struct& one : room.structs) {
      if (&one == &structure) return room;
    }
  }
  throw Wrong(structure.name + ": is in no room");
}

const Range& Descriptions::range(const Option& option) const {
  for (const Room& room : rooms_) {
    for (const Range& range : room.ranges) {
      if (range.name == option.range) return range;
    }
  }
  throw Wrong(fmt::format("{}: found the range '{}', which no options.yaml has", option.where, option.range));
}

/// Returns the names that begin with "head.", without this prefix: "how.samples" becomes "samples" for "how".
std::vector<std::string> below(const std::vector<std::string>& names, const std::string& head) {
  std::vector<std::string> rest;
  for (const std::string& name : names) {
    if (name.starts_with(head + ".")) rest.push_back(name.substr(head.size() + 1));
  }
  return rest;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Applies the changes of a member to one option of its struct. Returns false if the member excludes the option.
bool applies(const Option& member, Option& option) {
  const std::vector<std::string> only = below(member.only, option.name);
  if (!member.only.empty() && only.empty() && !has(member.only, option.name)) return false;
  if (has(member.without, option.name)) return false;
  append(option.only, only);
  append(option.without, below(member.without, option.name));
  for (const auto& [name, keys] : member.change) {
    if (name.starts_with(option.name + ".")) option.change[name.substr(option.name.size() + 1)] = keys;
  }
  if (option.face == Face::all) option.face = member.face;
  if (option.group.empty()) option.group = member.group;
  if (const auto it = member.change.find(option.name); it != member.change.end()) {
    for (const auto& [key, value] : it->second) read_option_key(option, key, YAML::Node(value));
  }
  return true;
}

void Descriptions::check_names(const Option& member) const {
  std::vector<std::string> names = member.only;
  append(names, member.without);
  for (const auto& [name, keys] : member.change) names.push_back(name);
  for (const std::string& name : names) (void)option_at(structure(member), name, member.where);
}

std::pair<std::string, Option> Descriptions::option_at(const Struct& from, const std::string& name,
                                                       const std::string& where) const {
  const std::string head = name.substr(0, name.find('.'));
  for (const Option& option : from.options) {
    if (option.name != head) continue;
    if (head == name) return {option.field, option};
    auto [path, inner] = option_at(structure(option), name.substr(head.size() + 1), where);
    return {option.field + "." + path, inner};
  }
  throw Wrong(fmt::format("{}: {} has no option '{}'", where, from.name, head));
}

void Descriptions::flatten(const Struct& from, const std::string& path, const Option* member,
                           std::vector<Leaf>& leaves) const {
  for (Option option : from.options) {
    if (member != nullptr && !applies(*member, option)) continue;
    if (option.face == Face::none) continue;
    const std::string at = path + option.field;
    if (option.structure.empty()) {
      if (option.group.empty()) option.group = from.group;
      leaves.push_back({option, at});
      continue;
    }
    if (!option.python.empty() && option.face != Face::command_line) {  // a single argument in Python
      Option section = option;
      section.face = Face::python;
      leaves.push_back({section, at});
    }
    if (!option.python.empty()) option.face = Face::command_line;
    check_names(option);
    flatten(structure(option), at + ".", &option, leaves);
  }
}

std::vector<Leaf> Descriptions::leaves(const Verb& verb) const {
  std::vector<Leaf> leaves;
  flatten(verb.command, "", nullptr, leaves);
  return leaves;
}

void Descriptions::check_option(const Option& option) const {
  check_sentence(option);
  const auto wrong = [&](const std::string& what) {
    throw Wrong(fmt::format("{}: found the default '{}', expected {}", option.where, option.default_text, what));
  };
  const bool is_number =
      option.type == "int" || option.type == "int64" || option.type == "number" || option.type == "float";
  if (!option.choices.empty() && option.enumeration.empty())
    throw Wrong(fmt::format("{}: found choices without an enum", option.where));
  if (!option.range.empty()) (void)range(option);
  if (!option.has_default || option.list) return;
  if (option.type == "flag" && option.default_text != "true" && option.default_text != "false") wrong("true or false");
  if (!option.choices.empty() && !option.default_text.empty() && !has(option.choices, option.default_text))
    wrong(fmt::format("one of {}", fmt::join(option.choices, ", ")));
  if (!is_number) return;
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(option.default_text, &end);
  } catch (const std::exception&) {
    wrong("a number");
  }
  if (end != option.default_text.size()) wrong("a number");
  if (option.type.starts_with("int") && number != std::floor(number)) wrong("an integer");
  if (!option.range.empty() && !range(option).contains(number)) wrong(range(option).text());
}

void Descriptions::check() const {
  for (const Room& room : rooms_) {
    for (const Struct& structure : room.structs) {
      for (const Option& option : structure.options) check_option(option);
    }
  }
  for (const Verb& verb : verbs_) {
    std::set<std::string> names;
    for (const auto& [option, path] : leaves(verb)) {
      check_option(option);
      if (!names.insert(option.name).second)
        throw Wrong(fmt::format("{}: {} has two options of that name", option.where, verb.name));
    }
  }
}

}  // namespace halfstep::optiongen
