#include "halfstep/report/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "halfstep/report/common/json.h"

namespace halfstep::report {
namespace {

using Json = nlohmann::ordered_json;

/// The diagnostic with placeholders: each value is its name in braces.
Diagnostic shape_of(const ErrorEntry& entry) {
  std::vector<Text> names;
  for (const std::string_view name : entry.takes) names.emplace_back("{" + std::string(name) + "}");
  return fill(entry, names);
}

Json json_of(const ErrorEntry& entry) {
  const Diagnostic shape = shape_of(entry);
  Json json = object_of(shape);
  json["title"] = entry.title;
  json["message"] = shape.message();
  json["explanation"] = entry.explanation;
  return json;
}

bool begins_with_file(const ErrorEntry& entry) {
  constexpr std::string_view kFiles[] = {"{path}", "{file}", "{archive}"};
  return std::ranges::any_of(kFiles, [&](std::string_view name) { return entry.where.starts_with(name); });
}

/// Splits "digits.ir:12". The line is 0 for a text without one.
Location location_in(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text};
  int line = 0;
  const char* end = text.data() + text.size();
  const bool is_line = std::from_chars(text.data() + colon + 1, end, line).ptr == end && line > 0;
  return is_line ? Location{text.substr(0, colon), line} : Location{text};
}

/// The name in "net.onnx: node 'conv4'".
std::string node_in(const std::string& where) {
  constexpr std::string_view kNode = "node '";
  const size_t at = where.find(kNode);
  if (at == std::string::npos || (at > 0 && !where.substr(0, at).ends_with(": "))) return "";
  const size_t begin = at + kNode.size();
  return where.substr(begin, where.find('\'', begin) - begin);
}

}  // namespace

ErrorPlace place_of(const Diagnostic& one) {
  ErrorPlace place{location_in(one.where.substr(0, one.where.find(": "))), node_in(one.where)};
  std::string& file = place.location.file;
  const bool is_before_node = !place.node.empty() && !one.where.starts_with("node ") && !file.ends_with('\'');
  if (place.location.line == 0 && !is_before_node && !begins_with_file(*one.entry)) file.clear();
  return place;
}

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return "bad_input";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::interrupted: return "interrupted";
    case ErrorKind::internal: return "internal";
  }
  return "";
}

nlohmann::ordered_json object_of(const Diagnostic& one) {
  const ErrorEntry& entry = *one.entry;
  Json json = {{"id", entry.id}, {"name", entry.name}, {"kind", name_of(entry.kind)}};
  for (const auto& [name, text] : one.parts()) json[name] = *text;
  const auto [location, node] = place_of(one);
  json["file"] = location.file;
  json["line"] = location.line > 0 ? Json(location.line) : Json();
  json["node"] = node;
  return json;
}

std::string as_text(const Error& error) {
  std::string line = fmt::format("error {}: {}", error.id(), error.what());
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string as_json(const Error& error) {
  Json json = {{"schema", kSchema}, {"errors", Json::array()}};
  for (const Diagnostic& one : error.diagnostics()) json["errors"].push_back(object_of(one));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const ErrorEntry& entry) {
  return fmt::format("{} {}\n\n  {}\n\n{}\n\nkind {}, name {}\n", entry.id, entry.title, shape_of(entry).message(),
                     entry.explanation, name_of(entry.kind), entry.name);
}

std::string as_json(const ErrorEntry& entry) { return to_text(json_of(entry)); }

std::string as_text(std::span<const ErrorEntry* const> entries) {
  std::string text;
  for (const ErrorEntry* entry : entries) text += fmt::format("{}  {}\n", entry->id, entry->title);
  return text;
}

std::string as_json(std::span<const ErrorEntry* const> entries) {
  Json json = {{"errors", Json::array()}};
  for (const ErrorEntry* entry : entries) json["errors"].push_back(json_of(*entry));
  return to_text(json);
}

}  // namespace halfstep::report
