#include "halfstep/quant/platform/platform_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "halfstep/quant/platform/record_json.h"

namespace halfstep::quant {
namespace {

constexpr size_t kColumns = 110;

/// Formats a value for use inside brackets. A text with a comma needs quotes there.
std::string in_flow(const YAML::Node& node) {
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out << YAML::BeginSeq << node << YAML::EndSeq;
  const std::string list = out.c_str();
  const size_t begin = list.find_first_not_of(' ', 1);
  return list.substr(begin, list.size() - 1 - begin);
}

/// Formats one value in one notation, independent of the notation in the record.
std::string value_text(const YAML::Node& node, ValueKind kind) {
  switch (kind) {
    case ValueKind::integer: return fmt::format("{}", node.as<int64_t>());
    case ValueKind::number: return fmt::format("{}", node.as<double>());
    case ValueKind::boolean: return fmt::format("{}", node.as<bool>());
    case ValueKind::integers: return fmt::format("[{}]", fmt::join(node.as<std::vector<int64_t>>(), ", "));
    default: return in_flow(node);
  }
}

/// Formats one rule of a list, with its keys in the order of platform_keys().
std::string rule_text(const YAML::Node& rule, const RecordKey& list) {
  std::vector<std::string> parts;
  for (const RecordKey* key : keys_below(platform_keys(), list.path)) {
    const std::string name = last_name(*key);
    if (rule[name].IsDefined()) parts.push_back(name + ": " + value_text(rule[name], key->kind));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

/// Returns an undefined node if the record does not have the key.
YAML::Node at(const YAML::Node& root, const std::string& path) {
  const size_t dot = path.find('.');
  const YAML::Node child = root[path.substr(0, dot)];
  return dot == std::string::npos || !child.IsDefined() ? child : at(child, path.substr(dot + 1));
}

/// Whether the key belongs to the rules of a list.
bool is_in_list(const RecordKey& key) {
  return std::ranges::any_of(platform_keys(), [&](const RecordKey& list) {
    return list.kind == ValueKind::mappings && key.path.starts_with(list.path + ".");
  });
}

std::string wrapped(const std::string& text, const std::string& front) {
  std::string lines, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && front.size() + line.size() + 1 + word.size() > kColumns) {
      lines += front + std::exchange(line, "") + "\n";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + front + line + "\n";
}

/// The doc of a key, followed by the legal values unless the doc already describes them.
std::string explained(const RecordKey& key) {
  const bool is_plain = key.kind == ValueKind::mapping || key.kind == ValueKind::mappings ||
                        (key.kind == ValueKind::text && key.legal.choices.empty() && key.legal.such.empty());
  return is_plain ? key.doc : fmt::format("{} ({})", key.doc, key.values());
}

std::string comment(const RecordKey& key, const std::string& indent) {
  std::string text = wrapped(explained(key), indent + "# ");
  if (key.kind != ValueKind::mappings) return text;
  for (const RecordKey* rule : keys_below(platform_keys(), key.path))
    text += wrapped(last_name(*rule) + ": " + explained(*rule), indent + "#   ");
  return text;
}

nlohmann::ordered_json object_json(const YAML::Node& map, const std::string& path);

nlohmann::ordered_json value_json(const YAML::Node& node, const RecordKey& key) {
  switch (key.kind) {
    case ValueKind::text: return node.Scalar();
    case ValueKind::integer: return node.as<int64_t>();
    case ValueKind::number: return node.as<double>();
    case ValueKind::boolean: return node.as<bool>();
    case ValueKind::integers: return node.as<std::vector<int64_t>>();
    case ValueKind::names: return node.as<std::vector<std::string>>();
    case ValueKind::mapping: return object_json(node, key.path);
    case ValueKind::mappings: break;
  }
  auto list = nlohmann::ordered_json::array();
  for (const auto& item : node) list.push_back(object_json(item, key.path));
  return list;
}

nlohmann::ordered_json object_json(const YAML::Node& map, const std::string& path) {
  auto object = nlohmann::ordered_json::object();
  for (const RecordKey* key : keys_below(platform_keys(), path)) {
    const YAML::Node value = map[last_name(*key)];
    if (value.IsDefined()) object[last_name(*key)] = value_json(value, *key);
  }
  return object;
}

std::string indent_of(const RecordKey& key) {
  return std::string(2 * static_cast<size_t>(std::ranges::count(key.path, '.')), ' ');
}

/// The text after the colon. A list of rules has one rule in each line.
std::string text_of(const Platform& platform, const std::vector<RecordField>& all, const RecordKey& key) {
  if (key.path == "doc") return " >-\n" + wrapped(platform.doc, "  ");
  std::string text;
  for (const RecordField& field : all) {
    if (field.path == key.path) return " " + field.value + "\n";
    if (field.path.starts_with(key.path + "[")) text += "\n" + indent_of(key) + "  - " + field.value;
  }
  return (key.kind == ValueKind::mappings && text.empty() ? " []" : text) + "\n";
}

/// A key that the platform does not set, as a comment that a user can enable.
std::string proposal(const RecordKey& key) {
  return indent_of(key) + "# " + last_name(key) + ":" + (key.example.empty() ? "" : " " + key.example) + "\n";
}

}  // namespace

std::vector<RecordField> fields(const Platform& platform) {
  const YAML::Node root = YAML::Load(platform.text);
  std::vector<RecordField> all;
  for (const RecordKey& key : platform_keys()) {
    if (key.kind == ValueKind::mapping || is_in_list(key)) continue;
    const YAML::Node value = at(root, key.path);
    if (!value.IsDefined()) continue;
    if (key.kind != ValueKind::mappings) {
      all.push_back({&key, key.path, value_text(value, key.kind)});
      continue;
    }
    for (size_t i = 0; i < value.size(); ++i)
      all.push_back({&key, fmt::format("{}[{}]", key.path, i), rule_text(value[i], key)});
  }
  return all;
}

namespace {

std::string record_lines(const Platform& platform, bool commented) {
  const YAML::Node root = YAML::Load(platform.text);
  const auto all = fields(platform);
  std::string text;
  for (const RecordKey& key : platform_keys()) {
    const bool is_there = at(root, key.path).IsDefined();
    if (is_in_list(key) || !(is_there || commented)) continue;
    const std::string indent = indent_of(key);
    if (commented) text += (indent.empty() && !text.empty() ? "\n" : "") + comment(key, indent);
    text += is_there ? indent + last_name(key) + ":" + text_of(platform, all, key) : proposal(key);
  }
  return text;
}

}  // namespace

std::string record_text(const Platform& platform) { return record_lines(platform, false); }
std::string commented_record_text(const Platform& platform) { return record_lines(platform, true); }

nlohmann::ordered_json record_json(const Platform& platform) { return object_json(YAML::Load(platform.text), ""); }

std::vector<RecordDifference> differences(const Platform& first, const Platform& second) {
  std::vector<RecordDifference> found;
  const auto before = fields(first), after = fields(second);
  for (const RecordField& field : before) {
    const auto other = std::ranges::find(after, field.path, &RecordField::path);
    if (other == after.end()) {
      found.push_back({field.path, field.value, std::nullopt});
    } else if (other->value != field.value && field.path != "platform" && field.path != "doc") {
      found.push_back({field.path, field.value, other->value});
    }
  }
  for (const RecordField& field : after) {
    if (std::ranges::find(before, field.path, &RecordField::path) == before.end())
      found.push_back({field.path, std::nullopt, field.value});
  }
  return found;
}

}  // namespace halfstep::quant
