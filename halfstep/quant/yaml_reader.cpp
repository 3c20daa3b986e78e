#include "halfstep/quant/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "halfstep/base/nearest.h"
#include "halfstep/base/status.h"

namespace halfstep::quant {

YAML::Node parse_yaml(const std::string& text, const std::string& file) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail("{}:{}: column {}: found what is no YAML, expected keys, values and brackets that end", file,
         error.mark.line + 1, error.mark.column + 1);
  }
}

namespace {

std::string shown_path(const std::string& path) { return path.empty() ? "record" : path; }

/// The library keeps a key that is given twice, and reads the first.
void require_names(const YAML::Node& map, const std::string& file, const std::string& path) {
  std::map<std::string, int> lines;
  for (const auto& entry : map) {
    const int line = entry.first.Mark().line + 1;
    if (!entry.first.IsScalar()) fail("{}:{}: {}: found a key that is no text", file, line, shown_path(path));
    const std::string key = (path.empty() ? "" : path + ".") + entry.first.Scalar();
    const auto [first, is_new] = lines.emplace(entry.first.Scalar(), line);
    if (!is_new) fail("{}:{}: {}: the key is given twice, before in line {}", file, line, key, first->second);
  }
}

/// What stands in place of a value of the expected kind, for messages.
std::string shown(const YAML::Node& node) {
  return node.IsScalar() ? "'" + node.Scalar() + "'"
         : node.IsNull() ? "nothing"
         : node.IsMap()  ? "a mapping"
                         : "a list";
}

}  // namespace

YamlReader::YamlReader(const YAML::Node& node, std::string file, std::string path)
    : node_(node), file_(std::move(file)), path_(std::move(path)) {
  if (!node_.IsMap())
    fail("{}:{}: {}: found no mapping, expected keys and values", file_, std::max(node_.Mark().line, 0) + 1,
         shown_path(path_));
  require_names(node_, file_, path_);
}

std::string YamlReader::where(const std::string& key) const {
  const YAML::Node child = static_cast<const YAML::Node&>(node_)[key];
  const int line = (child.IsDefined() ? child.Mark().line : node_.Mark().line) + 1;
  return fmt::format("{}:{}: {}{}{}", file_, line, path_, path_.empty() ? "" : ".", key);
}

bool YamlReader::has(const std::string& key) {
  known_.insert(key);
  return static_cast<const YAML::Node&>(node_)[key].IsDefined();
}

void YamlReader::reject_misspelling(const std::string& key) const {
  for (const auto& entry : node_) {
    const auto found = entry.first.as<std::string>();
    const std::string hint = known_.contains(found) ? std::string() : did_you_mean(found, {&key, 1});
    if (!hint.empty()) fail("{}: unknown key{}", where(found), hint);
  }
}

YAML::Node YamlReader::at(const std::string& key) {
  if (!has(key)) {
    reject_misspelling(key);
    fail("{}: is missing", where(key));
  }
  return static_cast<const YAML::Node&>(node_)[key];
}

template <class T>
T YamlReader::scalar(const std::string& key, std::string_view expected) {
  const YAML::Node child = at(key);
  try {
    return child.as<T>();
  } catch (const YAML::Exception&) {
    fail("{}: found {}, expected {}", where(key), shown(child), expected);
  }
}

std::string YamlReader::text(const std::string& key) { return scalar<std::string>(key, "text"); }

std::string YamlReader::text(const std::string& key, const std::vector<std::string>& choices) {
  std::string value = text(key);
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    fail("{}: found '{}', expected {}{}", where(key), value, fmt::join(choices, ", "), did_you_mean(value, choices));
  return value;
}

int64_t YamlReader::integer(const std::string& key, int64_t low, int64_t high) {
  const auto value = scalar<int64_t>(key, "a whole number");
  if (value < low || value > high) fail("{}: found {}, expected {} to {}", where(key), value, low, high);
  return value;
}

double YamlReader::number(const std::string& key, double low, double high) {
  const auto value = scalar<double>(key, "a number");
  if (!(value >= low && value <= high)) fail("{}: found {}, expected {} to {}", where(key), value, low, high);
  return value;
}

bool YamlReader::boolean(const std::string& key) { return scalar<bool>(key, "true or false"); }

std::vector<int64_t> YamlReader::integers(const std::string& key) {
  return scalar<std::vector<int64_t>>(key, "a list of whole numbers");
}

std::vector<std::string> YamlReader::texts(const std::string& key) {
  return scalar<std::vector<std::string>>(key, "a list of names");
}

YamlReader YamlReader::map(const std::string& key) {
  const YAML::Node child = at(key);
  return {child, file_, path_.empty() ? key : path_ + "." + key};
}

std::vector<YamlReader> YamlReader::maps(const std::string& key) {
  const YAML::Node list = at(key);
  if (!list.IsSequence()) fail("{}: found no list, expected a list of mappings", where(key));
  std::vector<YamlReader> readers;
  for (const YAML::Node& item : list) readers.emplace_back(item, file_, fmt::format("{}[{}]", key, readers.size()));
  return readers;
}

void YamlReader::finish() const {
  for (const auto& entry : node_) {
    const auto key = entry.first.as<std::string>();
    if (known_.contains(key)) continue;
    const std::vector<std::string> known(known_.begin(), known_.end());
    fail("{}: unknown key{}", where(key), did_you_mean(key, known));
  }
}

}  // namespace halfstep::quant
