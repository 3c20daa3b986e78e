#include "opgen/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace halfstep::opgen {

Yaml::Yaml(Entries entries, Source source)
    : entries_(std::make_shared<const Entries>(std::move(entries))), source_(std::move(source)) {}

const char* Yaml::shape() const {
  if (is_map()) return "a map";
  if (is_list()) return "a list";
  return is_scalar() ? "text" : "nothing";
}

Source Yaml::source_of(const YAML::Node& node, const std::string& path) const {
  const int line = node.Mark().is_null() ? source_.line : node.Mark().line + 1;
  return {source_.file, line, path};
}

const Yaml* Yaml::entry(const std::string& key) const {
  const auto found = std::find_if(entries_->begin(), entries_->end(), [&key](const auto& e) { return e.first == key; });
  return found == entries_->end() ? nullptr : &found->second;
}

bool Yaml::has(const std::string& key) const {
  return entries_ ? entry(key) != nullptr : node_.IsMap() && node_[key].IsDefined();
}

Yaml Yaml::at(const std::string& key) const {
  if (entries_) {
    const Yaml* found = entry(key);
    HS_CHECK(found != nullptr);
    return *found;
  }
  const YAML::Node value = node_[key];
  HS_CHECK(value.IsDefined());
  return Yaml(value, source_of(value, source_.path.empty() ? key : source_.path + "." + key));
}

Yaml::Entries Yaml::items() const {
  if (entries_) return *entries_;
  Entries items;
  std::map<std::string, int> lines;
  for (const auto& item : node_) {
    const std::string& key = item.first.Scalar();
    const Source where = source_of(item.first, source_.path.empty() ? key : source_.path + "." + key);
    if (!item.first.IsScalar()) fail_at(where, "found a key that is not text");
    const auto [first, is_new] = lines.emplace(key, where.line);
    if (!is_new) fail_at(where, "duplicate key, first in line {}", first->second);
    items.emplace_back(key, Yaml(item.second, where));
  }
  return items;
}

Yaml Yaml::under(const std::string& path) const {
  Yaml yaml = *this;
  yaml.source_.path = path;
  return yaml;
}

std::vector<Yaml> Yaml::elements() const {
  std::vector<Yaml> elements;
  for (const auto& node : node_) {
    elements.emplace_back(node, source_of(node, fmt::format("{}[{}]", source_.path, elements.size())));
  }
  return elements;
}

Yaml load_yaml(const std::string& file, const std::string& shown) {
  std::ifstream stream(file);
  if (!stream) fail(errors::record_wrong(fmt::format("{}: cannot be read", shown)));
  std::stringstream text;
  text << stream.rdbuf();
  try {
    return Yaml(YAML::Load(text.str()), {shown, 1, ""});
  } catch (const YAML::Exception& error) {
    fail(errors::record_wrong(fmt::format("{}:{}: {}", shown, error.mark.line + 1, error.msg)));
  }
}

double to_number(const Yaml& yaml) {
  const std::string& text = yaml.text();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!yaml.is_scalar() || error != std::errc() || end != text.data() + text.size())
    fail_at(yaml.source(), "found {}, expected a number", yaml.is_scalar() ? "'" + text + "'" : yaml.shape());
  return value;
}

int64_t to_int(const Yaml& yaml) {
  const std::string& text = yaml.text();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!yaml.is_scalar() || error != std::errc() || end != text.data() + text.size())
    fail_at(yaml.source(), "found {}, expected an int", yaml.is_scalar() ? "'" + text + "'" : yaml.shape());
  return value;
}

bool to_bool(const Yaml& yaml) {
  if (yaml.is_scalar() && yaml.text() == "true") return true;
  if (yaml.is_scalar() && yaml.text() == "false") return false;
  fail_at(yaml.source(), "found {}, expected true or false", yaml.is_scalar() ? "'" + yaml.text() + "'" : yaml.shape());
}

}  // namespace halfstep::opgen
