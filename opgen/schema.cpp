#include "opgen/schema.h"

#include <algorithm>
#include <cctype>

#include "halfstep/core/base/diagnostics/nearest.h"

namespace halfstep::opgen {
namespace {

/// Key of a level that allows any other name.
constexpr std::string_view kOther = "...";

constexpr std::string_view kListOf = "list of ", kMapOf = "map of ", kOr = " | ";

std::vector<std::string_view> alternatives(std::string_view type) {
  std::vector<std::string_view> parts;
  for (size_t at = type.find(kOr); at != std::string_view::npos; at = type.find(kOr)) {
    parts.push_back(type.substr(0, at));
    type.remove_prefix(at + kOr.size());
  }
  parts.push_back(type);
  return parts;
}

/// Whether text has only lower-case letters, digits and underscores, and does not start with a digit.
bool is_name(std::string_view text) {
  const auto in_name = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), in_name);
}

}  // namespace

Schema::Schema(const Yaml& page) {
  for (const auto& [level, keys] : page.items()) {
    for (const auto& [name, key] : keys.items()) {
      const bool required = key.has("required") && to_bool(key.at("required"));
      Enum choices{key.has("enum") ? key.at("enum").text() : "", key.at("doc").text(), {}};
      std::vector<std::string> names;
      if (key.has("choices")) {
        for (const auto& [choice, doc] : key.at("choices").items()) {
          choices.values.emplace_back(choice, doc.text());
          names.push_back(choice);
        }
      }
      levels_[level].push_back({name, key.at("type").text(), required, std::move(names)});
      if (!choices.name.empty()) enums_.push_back(std::move(choices));
    }
  }
}

bool Schema::fits(const Yaml& yaml, std::string_view type) const {
  if (type == "any") return true;
  if (type.starts_with(kListOf)) return yaml.is_list();
  if (type.starts_with(kMapOf)) return yaml.is_map();
  // A port may consist of its type only, and an attribute of its default only, in any form.
  if (type == "port") return yaml.is_map() || yaml.is_scalar() || yaml.is_list();
  if (type == "attribute") return true;
  return levels_.contains(type) ? yaml.is_map() : yaml.is_scalar();
}

void Schema::check(const Yaml& yaml, std::string_view type) const {
  for (const std::string_view part : alternatives(type)) {
    if (!fits(yaml, part)) continue;
    if (part.starts_with(kListOf)) {
      for (const Yaml& element : yaml.elements()) check(element, part.substr(kListOf.size()));
    } else if (part.starts_with(kMapOf)) {
      for (const auto& [key, value] : yaml.items()) check(value, part.substr(kMapOf.size()));
    } else if (levels_.contains(part)) {
      if (yaml.is_map()) check_level(yaml, std::string(part));
    } else {
      check_scalar(yaml, part);
    }
    return;
  }
  fail_at(yaml.source(), "found {}, expected {}", yaml.shape(), type);
}

void Schema::check_scalar(const Yaml& yaml, std::string_view type) const {
  if (type == "int") {
    to_int(yaml);
  } else if (type == "number") {
    to_number(yaml);
  } else if (type == "bool") {
    to_bool(yaml);
  } else if (type == "name" && !is_name(yaml.text())) {
    fail_at(yaml.source(), "found '{}', expected a name in snake_case", yaml.text());
  }
}

void Schema::check_choice(const Yaml& yaml, const Key& key) {
  if (!key.choices.empty() && std::ranges::find(key.choices, yaml.text()) == key.choices.end())
    fail_at(yaml.source(), "unknown {} '{}'{}", key.name, yaml.text(), did_you_mean(yaml.text(), key.choices));
}

const Schema::Key* Schema::find_key(const std::vector<Key>& keys, std::string_view name) {
  const auto key = std::find_if(keys.begin(), keys.end(), [name](const Key& k) { return k.name == name; });
  return key == keys.end() ? nullptr : &*key;
}

std::vector<std::string> Schema::names(const std::vector<Key>& keys) {
  std::vector<std::string> list;
  for (const Key& key : keys) list.push_back(key.name);
  return list;
}

void Schema::check_fragment(const Yaml& yaml) const {
  std::vector<Key> keys = levels_.find("fragment")->second;
  Yaml::Entries own;
  for (const auto& [name, value] : yaml.items()) {
    if (find_key(keys, name) != nullptr) own.emplace_back(name, value);
  }
  check_level({std::move(own), yaml.source()}, "fragment");
  for (const Key& key : levels_.find("record")->second) {
    if (key.name != "op" && key.name != "use") keys.push_back(key);
  }
  for (const auto& [name, value] : yaml.items()) {
    if (find_key(keys, name) == nullptr)
      fail_at(value.source(), "unknown key '{}'{}", name, did_you_mean(name, names(keys)));
  }
}

void Schema::check_level(const Yaml& yaml, const std::string& level) const {
  if (!yaml.is_map()) fail_at(yaml.source(), "found {}, expected a map", yaml.shape());
  const std::vector<Key>& keys = levels_.find(level)->second;
  for (const auto& [name, value] : yaml.items()) {
    const Key* key = find_key(keys, name);
    if (key == nullptr) key = find_key(keys, kOther);
    if (key == nullptr) fail_at(value.source(), "unknown key '{}'{}", name, did_you_mean(name, names(keys)));
    check(value, key->type);
    check_choice(value, *key);
  }
  for (const Key& key : keys) {
    if (key.required && !yaml.has(key.name)) fail_at(yaml.source(), "the key '{}' is missing", key.name);
  }
}

}  // namespace halfstep::opgen
