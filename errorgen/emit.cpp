#include "errorgen/emit.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace halfstep::errorgen {
namespace {

constexpr const char* kMade = "// Made by errorgen of the rooms' errors.yaml.\n";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ostringstream old;
  if (std::ifstream file(path); file) old << file.rdbuf();
  if (old.str() == text) return;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw Wrong(path.string() + ": cannot be written");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
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
    // No words of the entry: who improves them compiles one source.
    declared += fmt::format("/// {}\nDiagnostic {}({});\nextern const ErrorEntry& {}_entry;\n", entry.id, entry.name,
                            parameters(entry), entry.name);
    rows += takes_of(entry) + row(entry, std::filesystem::path(room.folder).lexically_relative("halfstep").string());
    defined += fmt::format(
        "Diagnostic {}({}) {{ return fill(kEntry_{}, {{{}}}); }}\nconst ErrorEntry& {}_entry = kEntry_{};\n",
        entry.name, parameters(entry), entry.name, fmt::format("{}", fmt::join(entry.takes, ", ")), entry.name,
        entry.name);
  }
  write(out + "/" + header, fmt::format("{}#pragma once\n\n#include \"halfstep/core/base/diagnostic.h\"\n\nnamespace "
                                        "halfstep::errors {{\n\n{}\n}}  // namespace halfstep::errors\n",
                                        kMade, declared));
  write(out + "/" + room.folder + "/errors.cpp",
        fmt::format("{}#include \"{}\"\n\nnamespace halfstep::errors {{\nnamespace {{\n{}}}  // namespace\n\n{}\n}}  "
                    "// namespace "
                    "halfstep::errors\n",
                    kMade, header, rows, defined));
}

void write_table(const Catalogue& catalogue, const std::string& out) {
  std::string includes, rows;
  for (const Room& room : catalogue.rooms()) includes += fmt::format("#include \"{}/errors.h\"\n", room.folder);
  for (const Entry* entry : catalogue.by_id()) rows += fmt::format("      &errors::{}_entry,\n", entry->name);
  write(
      out + "/halfstep/api/error_table.cpp",
      fmt::format(
          "{}#include \"halfstep/api/explain.h\"\n{}\nnamespace halfstep::api {{\n\nstd::span<const ErrorEntry* const> "
          "all_errors() {{\n  static const ErrorEntry* const kAll[] = {{\n{}  }};\n  return kAll;\n}}\n\n}}  // "
          "namespace "
          "halfstep::api\n",
          kMade, includes, rows));
}

}  // namespace halfstep::errorgen
