#include "errorgen/catalogue.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

namespace halfstep::errorgen {
namespace {

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Returns all names in braces.
std::set<std::string> names_in(const std::string& text) {
  static const std::regex kName(R"(\{([a-z_]*)\})");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

Entry read_entry(const std::string& name, const YAML::Node& node, const std::string& where) {
  Entry entry;
  entry.name = name;
  for (const auto& pair : node) {
    const auto key = pair.first.as<std::string>();
    if (key == "takes") {
      entry.takes = pair.second.as<std::vector<std::string>>();
      continue;
    }
    auto text = pair.second.as<std::string>();
    while (text.ends_with('\n')) text.pop_back();
    if (key == "id")
      entry.id = text;
    else if (key == "kind")
      entry.kind = text;
    else if (key == "title")
      entry.title = text;
    else if (key == "explanation")
      entry.explanation = text;
    else if (has(kFields, key))
      entry.fields[key] = text;
    else
      throw Wrong(fmt::format("{}: found the key '{}', expected id, kind, title, takes, {} or explanation", where, key,
                              fmt::join(kFields, ", ")));
  }
  // A value with the name of a part fills this part.
  for (const std::string& field : kFields) {
    if (has(entry.takes, field) && !entry.fields.contains(field)) entry.fields[field] = "{" + field + "}";
  }
  return entry;
}

void check_entry(const Entry& entry, const std::string& where) {
  static const std::regex kId("HS[1-9][0-9]{3}"), kWord("[a-z][a-z0-9_]*");
  if (!std::regex_match(entry.id, kId))
    throw Wrong(fmt::format("{}: found the id '{}', expected HS and four digits", where, entry.id));
  if (!std::regex_match(entry.name, kWord)) throw Wrong(fmt::format("{}: a name has a to z, 0 to 9 and _", where));
  if (!has({"bad_input", "unsupported", "interrupted", "internal"}, entry.kind))
    throw Wrong(fmt::format("{}: found the kind '{}', expected bad_input, unsupported, interrupted or internal", where,
                            entry.kind));
  if (entry.title.empty() || entry.explanation.empty())
    throw Wrong(fmt::format("{}: an entry has a title and an explanation", where));
  const auto has_field = [&](const char* field) { return entry.fields.contains(field); };
  if (!has_field("problem") && !has_field("found") && !has_field("expected"))
    throw Wrong(fmt::format("{}: an entry has a problem, found or expected", where));
  std::set<std::string> used;
  for (const auto& [field, text] : entry.fields) {
    if (std::count(text.begin(), text.end(), '{') != static_cast<ptrdiff_t>(std::count(text.begin(), text.end(), '}')))
      throw Wrong(fmt::format("{}: {}: found braces that do not match", where, field));
    used.merge(names_in(text));
  }
  for (const std::string& name : used) {
    if (!has(entry.takes, name)) throw Wrong(fmt::format("{}: uses '{{{}}}', which it does not take", where, name));
  }
  for (const std::string& name : entry.takes) {
    if (!used.contains(name)) throw Wrong(fmt::format("{}: takes '{}', which it does not use", where, name));
  }
}

}  // namespace

const std::vector<std::string> kFields = {"where", "problem", "found", "expected", "remedy"};

void Catalogue::add(const std::string& file) {
  Room room{std::filesystem::path(file).parent_path().string(), {}};
  const YAML::Node root = YAML::LoadFile(file);
  for (const auto& pair : root) {
    const auto name = pair.first.as<std::string>();
    const std::string where = fmt::format("{}:{}: {}", file, pair.first.Mark().line + 1, name);
    room.entries.push_back(read_entry(name, pair.second, where));
    check_entry(room.entries.back(), where);
    for (const std::string& key : {name, room.entries.back().id}) {
      if (const auto [it, is_new] = owner_.emplace(key, where); !is_new)
        throw Wrong(fmt::format("{}: {} is that of {}", where, key, it->second));
    }
  }
  rooms_.push_back(std::move(room));
}

std::vector<const Entry*> Catalogue::by_id() const {
  std::vector<const Entry*> entries;
  for (const Room& room : rooms_) {
    for (const Entry& entry : room.entries) entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->id < b->id; });
  return entries;
}

}  // namespace halfstep::errorgen
