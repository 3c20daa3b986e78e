#include "errorgen/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "buildgen/text.h"

namespace halfstep::errorgen {
namespace {

constexpr const char* kMade = "// Made by errorgen of the rooms' errors.yaml.\n";

/// Joins the text of an entry into one line.
std::string quoted(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return buildgen::quoted(text);
}

std::string parameters(const Entry& entry) {
  std::string text;
  for (const std::string& name : entry.takes) text += fmt::format("{}const Text& {}", text.empty() ? "" : ", ", name);
  return text;
}

std::string row(const Entry& entry, const std::string& room) {
  const auto field = [&](const char* name) {
    const auto it = entry.fields.find(name);
    return it == entry.fields.end() ? std::string("{}") : quoted(it->second);
  };
  const std::string takes = entry.takes.empty() ? "{}" : "kTakes_" + entry.name;
  return fmt::format(
      "constexpr ErrorEntry kEntry_{} = {{{}, {}, {}, ErrorKind::{}, {}, {}, {}, {}, {}, {}, {}, {}}};\n", entry.name,
      quoted(entry.id), quoted(entry.name), quoted(room), entry.kind, quoted(entry.title), takes, field("where"),
      field("problem"), field("found"), field("expected"), field("remedy"), quoted(entry.explanation));
}

std::string takes_of(const Entry& entry) {
  if (entry.takes.empty()) return "";
  std::string names;
  for (const std::string& name : entry.takes) names += (names.empty() ? "" : ", ") + quoted(name);
  return fmt::format("constexpr std::string_view kTakes_{}[] = {{{}}};\n", entry.name, names);
}

}  // namespace

void write_room(const Room& room, const std::string& out) {
  const std::string header = room.folder + "/errors.h";
  std::string declared, defined, rows;
  for (const Entry& entry : room.entries) {
    // The header has no texts of the entry, so that a text change recompiles only one source.
    declared += fmt::format("/// {}\nDiagnostic {}({});\nextern const ErrorEntry& {}_entry;\n", entry.id, entry.name,
                            parameters(entry), entry.name);
    rows += takes_of(entry) + row(entry, std::filesystem::path(room.folder).lexically_relative("halfstep").string());
    defined += fmt::format(
        "Diagnostic {}({}) {{ return fill(kEntry_{}, {{{}}}); }}\nconst ErrorEntry& {}_entry = kEntry_{};\n",
        entry.name, parameters(entry), entry.name, fmt::format("{}", fmt::join(entry.takes, ", ")), entry.name,
        entry.name);
  }
  buildgen::write(out + "/" + header,
                  fmt::format("{}#pragma once\n\n#include \"halfstep/core/base/diagnostics/diagnostic.h\"\n\nnamespace "
                              "halfstep::errors {{\n\n{}\n}}  // namespace halfstep::errors\n",
                              kMade, declared));
  buildgen::write(
      out + "/" + room.folder + "/errors.cpp",
      fmt::format("{}#include \"{}\"\n\nnamespace halfstep::errors {{\nnamespace {{\n{}}}  // namespace\n\n{}\n}}  "
                  "// namespace "
                  "halfstep::errors\n",
                  kMade, header, rows, defined));
}

void write_table(const Catalogue& catalogue, const std::string& out) {
  std::string includes, rows;
  for (const Room& room : catalogue.rooms()) includes += fmt::format("#include \"{}/errors.h\"\n", room.folder);
  for (const Entry* entry : catalogue.by_id()) rows += fmt::format("      &errors::{}_entry,\n", entry->name);
  buildgen::write(
      out + "/halfstep/api/error_table.cpp",
      fmt::format(
          "{}#include \"halfstep/api/tools/explain.h\"\n{}\nnamespace halfstep::api {{\n\nstd::span<const ErrorEntry* "
          "const> "
          "all_errors() {{\n  static const ErrorEntry* const kAll[] = {{\n{}  }};\n  return kAll;\n}}\n\n}}  // "
          "namespace "
          "halfstep::api\n",
          kMade, includes, rows));
}

}  // namespace halfstep::errorgen
