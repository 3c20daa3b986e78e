// Options in C++: a struct for each room and a struct for each verb, with access to every option in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "optiongen/emit.h"

namespace halfstep::optiongen {
namespace {

const std::map<std::string, std::string> kTypes = {
    {"flag", "bool"},           {"int", "int"},     {"int64", "int64_t"},    {"uint64", "uint64_t"},
    {"number", "double"},       {"float", "float"}, {"text", "std::string"}, {"path", "std::filesystem::path"},
    {"platform", "std::string"}, {"repair_method", "std::string"}};

/// Appends an underscore to a name that is a C++ keyword.
std::string enumerator(const std::string& choice) {
  static const std::set<std::string> kTaken = {"float", "default", "auto", "new"};
  return kTaken.contains(choice) ? choice + "_" : choice;
}

std::string header_of(const std::string& folder) { return folder + "/options.h"; }

std::string comment(const std::string& text, const std::string& indent) {
  return text.empty()
             ? ""
             : fmt::format("{0}/// {1}\n", indent, fmt::join(wrapped(sentence(text), 112), "\n" + indent + "/// "));
}

/// Returns "::kShare" for the range "share".
std::string constant(const std::string& range) {
  std::string name = "k";
  bool upper = true;
  for (const char c : range) {
    if (c != '_') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return name;
}

std::string ranges_header(const Room& room) {
  std::string constants;
  for (const Range& range : room.ranges)
    constants += fmt::format("inline constexpr Limits {} = {{{:.17g}, {:.17g}, {}, {}, {}}};\n", constant(range.name),
                             range.least, range.most, range.whole, range.above, range.below);
  return fmt::format(
      "{}// Included by limits.h.\n#pragma once\n\nnamespace halfstep::limits {{\n\n{}\n}}  // namespace "
      "halfstep::limits\n",
      kMade, constants);
}

std::string enumerations(const Struct& structure) {
  std::string text;
  for (const Option& option : structure.options) {
    if (option.enumeration.empty() || option.enumeration.find("::") != std::string::npos) continue;
    std::vector<std::string> names;
    for (const std::string& choice : option.choices) names.push_back(enumerator(choice));
    text += fmt::format(
        "{}enum class {} {{ {} }};\n/// Names of the enumerators, as options take them.\nconstexpr "
        "std::array<std::string_view, {}> "
        "choices_of({}) {{\n  return {{\"{}\"}};\n}}\nconstexpr std::string_view name({} choice) {{ return "
        "choices_of(choice)[static_cast<size_t>(choice)]; }}\n\n",
        comment(option.doc, ""), option.enumeration, fmt::join(names, ", "), names.size(), option.enumeration,
        fmt::join(option.choices, "\", \""), option.enumeration);
  }
  return text;
}

/// Returns the members of a struct. Adds a constructor if a member struct has changed defaults.
std::string members(const Descriptions& all, const Struct& structure) {
  std::string text, changes;
  for (const Option& option : structure.options) {
    const std::string value = option.cpp_default();
    text += fmt::format("{}  {} {}{};\n", comment(option.doc, "  "), option.cpp_type(), option.field,
                        value.empty() ? " = {}" : " = " + value);
    for (const auto& [name, keys] : option.change) {
      const auto it = keys.find("default");
      if (it == keys.end()) continue;
      auto [path, changed] = all.option_at(all.structure(option), name, option.where);
      changed.default_text = it->second;
      changed.has_default = true;
      changes += fmt::format("    {}.{} = {};\n", option.field, path, changed.cpp_default());
    }
  }
  if (!changes.empty()) text += fmt::format("\n  {}() {{\n{}  }}\n", structure.name, changes);
  return text;
}

/// Whether a member has other ranges than its struct. The verb checks such a member.
bool changes_ranges(const Option& member) {
  return std::any_of(member.change.begin(), member.change.end(),
                     [](const auto& change) { return change.second.contains("range"); });
}

bool has_ranges(const Descriptions& all, const Struct& structure) {
  return std::any_of(structure.options.begin(), structure.options.end(), [&](const Option& option) {
    return !option.range.empty() || (!option.structure.empty() && has_ranges(all, all.structure(option)));
  });
}

std::string ranges_check(const Descriptions& all, const Struct& structure, bool declared) {
  if (!has_ranges(all, structure)) return "";
  const std::string head =
      fmt::format("void add_out_of_range(const {}& options, std::vector<Diagnostic>& found)", structure.name);
  if (declared) return fmt::format("/// Adds a diagnostic for each number that is out of its range.\n{};\n\n", head);
  std::string lines;
  for (const Option& option : structure.options) {
    if (!option.structure.empty() && !changes_ranges(option) && has_ranges(all, all.structure(option)))
      lines += fmt::format("  add_out_of_range(options.{}, found);\n", option.field);
    if (!option.range.empty())
      lines += fmt::format("  limits::{}.add_unless_in(\"{}\", options.{}, found);\n", constant(option.range),
                           option.name, option.field);
  }
  return fmt::format("{} {{\n{}}}\n\n", head, lines);
}

std::string struct_text(const Descriptions& all, const Struct& structure) {
  return fmt::format("{}{}struct {} {{\n{}}};\n{}", enumerations(structure), comment(structure.doc, ""), structure.name,
                     members(all, structure), ranges_check(all, structure, true));
}

std::set<std::string> headers(const Descriptions& all, const std::vector<Option>& options) {
  std::set<std::string> found;
  for (const Option& option : options) {
    if (option.structure.empty()) continue;
    const Struct& structure = all.structure(option);
    found.insert(structure.header.empty() ? header_of(all.owner(structure).folder) : structure.header);
  }
  return found;
}

std::string includes_of(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("#include \"{}\"\n", name);
  return text;
}

constexpr const char* kSystem =
    "#include <array>\n#include <cstdint>\n#include <filesystem>\n#include <optional>\n#include <string>\n#include "
    "<string_view>\n#include <vector>\n\n";

std::string entry_row(const Option& option) {
  const char* faces[] = {"all", "command_line", "python", "none"};
  return fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, OptionFace::{}, {}, {}, {}}},\n",
                     quoted(option.name), quoted(option.flag), quoted(option.short_flag), quoted(option.group), quoted(option.unit),
                     quoted(option.doc), option.range.empty() ? "nullptr" : "&limits::" + constant(option.range),
                     quoted(fmt::format("{}", fmt::join(option.choices, " "))),
                     quoted(fmt::format("{}", fmt::join(option.earlier, " "))), quoted(option.needs),
                     quoted(option.excludes), quoted(option.type), quoted(option.separator), option.count,
                     faces[static_cast<int>(option.face)], option.advanced, option.positional, option.required);
}

std::string binding(const Descriptions& all, const Verb& verb) {
  std::string rows, calls;
  for (const auto& [option, path] : all.leaves(verb)) {
    rows += entry_row(option);
    calls += fmt::format("  bind(command.{});\n", path);
  }
  return fmt::format(
      "namespace {{\nconstexpr OptionEntry kOptions_{0}[] = {{\n{1}}};\nconstexpr VerbEntry kVerb_{0} = {{{2}, {3}, "
      "{4}}};\n}}  // "
      "namespace\n\nconst VerbEntry& verb_of(const {5}&) {{ return kVerb_{0}; }}\n\nstd::vector<BoundOption> "
      "options_of({5}& command) "
      "{{\n  Binder bind(kOptions_{0});\n{6}  return bind.options();\n}}\n\n",
      verb.name, rows, quoted(verb.name), quoted(verb.summary),
      quoted(fmt::format("{}", fmt::join(verb.examples, "\n"))), verb.command.name, calls);
}

}  // namespace

std::string Option::cpp_type() const {
  std::string base = structure;
  if (!enumeration.empty())
    base = enumeration;
  else if (structure.empty())
    base = kTypes.contains(type) ? kTypes.at(type) : type;
  if (list) base = fmt::format("std::vector<{}>", base);
  return optional ? fmt::format("std::optional<{}>", base) : base;
}

std::string Option::cpp_default() const {
  if (!has_default) return type == "flag" && !optional ? "false" : "";
  if (!enumeration.empty()) return enumeration + "::" + enumerator(default_text);
  return type == "text" || type == "path" || type == "platform" ? quoted(default_text) : default_text;
}

void write_room(const Descriptions& all, const Room& room, const std::string& out) {
  std::string structs, checks;
  std::set<std::string> included(room.includes.begin(), room.includes.end());
  for (const Struct& structure : room.structs) {
    structs += "\n" + struct_text(all, structure);
    checks += ranges_check(all, structure, false);
    included.merge(headers(all, structure.options));
  }
  included.erase(header_of(room.folder));
  if (!room.ranges.empty()) write(out + "/" + room.folder + "/ranges.h", ranges_header(room));
  if (room.structs.empty()) return;
  if (!checks.empty()) included.insert("halfstep/core/base/diagnostics/diagnostic.h");
  write(out + "/" + header_of(room.folder),
        fmt::format("{}#pragma once\n\n{}{}\nnamespace halfstep::{} {{\n{}\n}}  // namespace halfstep::{}\n", kMade,
                    kSystem, includes_of(included), room.space, structs, room.space));
  write(out + "/" + room.folder + "/options.cpp",
        fmt::format("{}#include \"{}\"\n\n#include \"halfstep/core/base/limits.h\"\n\nnamespace halfstep::{} "
                    "{{\n\n{}}}  // namespace halfstep::{}\n",
                    kMade, header_of(room.folder), room.space, checks, room.space));
}

void write_commands(const Descriptions& all, const std::string& out) {
  std::string structs, declared, bindings;
  std::set<std::string> included;
  for (const Verb& verb : all.verbs()) {
    structs += "\n" + struct_text(all, verb.command);
    declared += fmt::format(
        "const VerbEntry& verb_of(const {0}& command);\nstd::vector<BoundOption> options_of({0}& command);\n",
        verb.command.name);
    bindings += binding(all, verb);
    included.merge(headers(all, verb.command.options));
  }
  included.insert("halfstep/api/inputs/option.h");
  write(out + "/halfstep/api/commands.h", fmt::format("{}// Verbs with their options, and each option by "
                                                      "name.\n#pragma once\n\n{}{}\nnamespace halfstep::api "
                                                      "{{\n{}\n{}\n}}  // namespace halfstep::api\n",
                                                      kMade, kSystem, includes_of(included), structs, declared));
  write(
      out + "/halfstep/api/commands.cpp",
      fmt::format("{}#include \"halfstep/api/commands.h\"\n\n#include \"halfstep/api/inputs/option_types.h\"\n#include "
                  "\"halfstep/core/base/limits.h\"\n\nnamespace halfstep::api {{\n\n{}}}  // namespace halfstep::api\n",
                  kMade, bindings));
}

}  // namespace halfstep::optiongen
