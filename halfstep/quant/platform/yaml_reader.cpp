#include "halfstep/quant/platform/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/quant/platform/errors.h"

namespace halfstep::quant {
namespace {

std::string line_of(const std::string& text, int number) {
  size_t begin = 0;
  for (int line = 0; line < number && begin != std::string::npos; ++line) {
    const size_t end = text.find('\n', begin);
    begin = end == std::string::npos ? end : end + 1;
  }
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

bool is_indented_by_a_tab(const std::string& line) {
  const size_t tab = line.find('\t');
  return tab != std::string::npos && line.find_first_not_of(" \t") > tab;
}

std::string joined(const std::string& path, const std::string& key) {
  if (path.empty() || key.empty()) return path + key;
  return path + "." + key;
}

/// Describes a value of the wrong kind for messages.
std::string shown(const YAML::Node& node) {
  return node.IsScalar() ? "'" + node.Scalar() + "'"
         : node.IsNull() ? "nothing"
         : node.IsMap()  ? "a mapping"
                         : "a list";
}

template <class T>
std::optional<T> as(const YAML::Node& node) {
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

YAML::Node undefined() { return YAML::Node(YAML::NodeType::Undefined); }

/// The value of a key, undefined if absent. Uses a const Node, because a non-const Node would add the key.
YAML::Node child(const YAML::Node& map, const std::string& key) {
  const YAML::Node value = map.IsMap() ? map[key] : undefined();
  return value.IsDefined() ? value : undefined();
}

const char* plural(ValueKind kind) {
  return kind == ValueKind::integers ? "a list of integers"
         : kind == ValueKind::names  ? "a list of names"
                                     : "a list of mappings";
}

/// Returns an error for one value, also for an element of a list.
template <class T>
std::optional<Diagnostic> wrong_scalar(const YAML::Node& node, const RecordKey& key, const char* expected) {
  const auto value = node.IsScalar() ? as<T>(node) : std::nullopt;
  if (!value) return errors::record_value_kind(shown(node), expected);
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto number = static_cast<double>(*value);
    if (!(number >= key.legal.least && number <= key.legal.most))
      return errors::record_value_out_of_range(*value, range_text(key));
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_text(const YAML::Node& node, const RecordKey& key) {
  if (auto wrong = wrong_scalar<std::string>(node, key, "text")) return wrong;
  const std::string& value = node.Scalar();
  if (key.legal.choices.empty() || std::ranges::find(key.legal.choices, value) != key.legal.choices.end())
    return std::nullopt;
  return errors::record_value_not_a_choice(shown(node), fmt::format("{}", fmt::join(key.legal.choices, ", ")),
                                           did_you_mean(value, key.legal.choices));
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail(errors::yaml_of_several_documents(file));
    return documents.empty() ? YAML::Node() : documents.front();
  } catch (const YAML::Exception& error) {
    const int line = std::max(error.mark.line, 0);
    for (const int near : {line, line - 1}) {  // a tab before a key is reported after the key or in the next line
      if (near >= 0 && is_indented_by_a_tab(line_of(text, near)))
        fail(errors::yaml_indented_by_tab(fmt::format("{}:{}", file, near + 1)));
    }
    fail(errors::yaml_invalid(fmt::format("{}:{}: column {}", file, line + 1, error.mark.column + 1)));
  }
}

YamlDocument::YamlDocument(const YAML::Node& root, std::string file, std::span<const RecordKey> keys,
                           const YAML::Node& base)
    : root_(root), base_(base), file_(std::move(file)), keys_(keys) {
  check_mapping(root, base, "", "");
}

YamlReader YamlDocument::reader() { return {*this, root_, base_, root_.Mark(), "", ""}; }

std::vector<Diagnostic> YamlDocument::objections() const {
  auto sorted = objections_;
  std::ranges::stable_sort(sorted, {}, [](const auto& one) { return one.first; });
  std::vector<Diagnostic> all;
  for (auto& [line, objection] : sorted) all.push_back(std::move(objection));
  return all;
}

void YamlDocument::object(const YAML::Mark& mark, const std::string& path, Diagnostic said) {
  const int line = std::max(mark.line, 0) + 1;
  said.where = fmt::format("{}:{}: {}", file_, line, path.empty() ? "record" : path);
  objections_.emplace_back(line, std::move(said));
}

void YamlDocument::reject(const YAML::Mark& mark, const std::string& path, Diagnostic said) {
  wrong_.insert(path);
  object(mark, path, std::move(said));
}

/// Checks the path and all mappings and lists that contain it.
bool YamlDocument::is_sound(const std::string& path) const {
  for (size_t end = path.find_first_of(".["); end != std::string::npos; end = path.find_first_of(".[", end + 1)) {
    if (wrong_.contains(path.substr(0, end))) return false;
  }
  return !wrong_.contains("") && !wrong_.contains(path);
}

void YamlDocument::check(const YAML::Node& node, const YAML::Node& base, const std::string& path,
                         const RecordKey& key) {
  std::optional<Diagnostic> wrong;
  switch (key.kind) {
    case ValueKind::text: wrong = wrong_text(node, key); break;
    case ValueKind::integer: wrong = wrong_scalar<int64_t>(node, key, "an integer"); break;
    case ValueKind::number: wrong = wrong_scalar<double>(node, key, "a number"); break;
    case ValueKind::boolean: wrong = wrong_scalar<bool>(node, key, "true or false"); break;
    case ValueKind::mapping: return check_mapping(node, base, path, key.path);
    case ValueKind::integers:
    case ValueKind::names:
    case ValueKind::mappings: return check_list(node, path, key);
  }
  if (wrong) reject(node.Mark(), path, std::move(*wrong));
}

void YamlDocument::check_list(const YAML::Node& list, const std::string& path, const RecordKey& key) {
  const std::string expected = plural(key.kind);
  if (!list.IsSequence()) return reject(list.Mark(), path, errors::record_value_kind(shown(list), expected));
  std::set<std::string> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const YAML::Node item = list[i];
    if (key.kind == ValueKind::mappings) {
      check_mapping(item, undefined(), fmt::format("{}[{}]", path, i), key.path);
      continue;
    }
    auto wrong = key.kind == ValueKind::integers ? wrong_scalar<int64_t>(item, key, expected.c_str())
                                                 : wrong_scalar<std::string>(item, key, expected.c_str());
    if (wrong) {
      reject(item.Mark(), path, std::move(*wrong));
    } else if (!seen.insert(item.Scalar()).second) {
      object(item.Mark(), path, errors::record_value_twice(item.Scalar()));
    }
  }
}

void YamlDocument::check_mapping(const YAML::Node& node, const YAML::Node& base, const std::string& path,
                                 const std::string& key_path) {
  if (!node.IsMap()) {
    const char* found = node.IsDefined() && !node.IsNull() ? "no mapping" : "nothing";
    return reject(node.Mark(), path,
                  path.empty() ? errors::record_without_keys(found) : errors::record_section_without_keys(found));
  }
  const std::set<std::string> misspelled = check_names(node, path, key_path);
  for (const RecordKey* key : keys_below(keys_, key_path)) {
    const std::string name = last_name(*key), key_at = joined(path, name);
    const YAML::Node value = child(node, name), before = child(base, name);
    if (value.IsDefined()) {
      check(value, before, key_at, *key);
    } else if (!key->absent && !before.IsDefined()) {
      wrong_.insert(key_at);
      if (misspelled.contains(name)) continue;
      const bool is_in_list = path.find('[') != std::string::npos;
      object(node.Mark(), key_at, is_in_list ? errors::record_list_key_missing() : errors::record_key_missing());
    }
  }
}

std::set<std::string> YamlDocument::check_names(const YAML::Node& map, const std::string& path,
                                                const std::string& key_path) {
  std::vector<std::string> absent, known;
  for (const RecordKey* key : keys_below(keys_, key_path)) {
    known.push_back(last_name(*key));
    if (!child(map, known.back()).IsDefined()) absent.push_back(known.back());
  }
  std::set<std::string> misspelled;
  std::map<std::string, int> lines;
  for (const auto& entry : map) {
    const YAML::Mark mark = entry.first.Mark();
    if (!entry.first.IsScalar()) {
      object(mark, path, errors::record_key_not_text());
      continue;
    }
    const std::string& name = entry.first.Scalar();
    const auto [first, is_new] = lines.emplace(name, mark.line + 1);
    if (!is_new) {  // yaml-cpp keeps both values and reads the first
      reject(mark, joined(path, name), errors::record_key_twice(first->second));
    } else if (std::ranges::find(known, name) == known.end()) {
      const std::string* near = nearest_word(name, absent);
      if (near != nullptr) {
        misspelled.insert(*near);
        wrong_.insert(joined(path, *near));
      }
      object(mark, joined(path, name),
             errors::record_key_unknown(did_you_mean(name, near != nullptr ? absent : known)));
    }
  }
  return misspelled;
}

std::string YamlReader::path_of(const std::string& key) const { return joined(path_, key); }

const RecordKey& YamlReader::key_of(const std::string& key) const {
  const std::string path = joined(key_path_, key);
  const auto found = std::ranges::find(document_->keys_, path, &RecordKey::path);
  HS_CHECK(found != document_->keys_.end());
  return *found;
}

YAML::Mark YamlReader::mark_of(const std::string& key) const {
  const YAML::Node node = child(node_, key);
  return node.IsDefined() ? node.Mark() : mark_;
}

YAML::Node YamlReader::at(const std::string& key) const {
  const RecordKey& expected = key_of(key);
  const YAML::Node value = child(node_, key), before = child(base_, key);
  if (value.IsDefined()) return document_->is_sound(path_of(key)) ? value : undefined();
  if (before.IsDefined()) return before;
  return expected.absent.value_or("").empty() ? undefined() : YAML::Load(*expected.absent);
}

template <class T>
T YamlReader::value(const std::string& key, T otherwise) const {
  const YAML::Node node = at(key);
  return node.IsDefined() ? node.as<T>() : std::move(otherwise);
}

bool YamlReader::has(const std::string& key) const {
  key_of(key);
  return child(node_, key).IsDefined() || child(base_, key).IsDefined();
}

std::string YamlReader::text(const std::string& key) const {
  const auto& choices = key_of(key).legal.choices;
  return value<std::string>(key, choices.empty() ? "" : choices.front());
}

int64_t YamlReader::integer(const std::string& key) const {
  return value<int64_t>(key, static_cast<int64_t>(key_of(key).legal.least));
}

double YamlReader::number(const std::string& key) const { return value<double>(key, key_of(key).legal.least); }

bool YamlReader::boolean(const std::string& key) const { return value<bool>(key, false); }

std::vector<int64_t> YamlReader::integers(const std::string& key) const { return value<std::vector<int64_t>>(key, {}); }

std::vector<std::string> YamlReader::texts(const std::string& key) const {
  return value<std::vector<std::string>>(key, {});
}

YamlReader YamlReader::map(const std::string& key) const {
  const YAML::Node written = is_sound(key) ? child(node_, key) : undefined();
  return {*document_, written, child(base_, key), mark_of(key), path_of(key), joined(key_path_, key)};
}

std::vector<YamlReader> YamlReader::maps(const std::string& key) const {
  const YAML::Node list = at(key);
  const bool is_written = child(node_, key).IsDefined();
  std::vector<YamlReader> readers;
  for (size_t i = 0; list.IsDefined() && i < list.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    readers.push_back({*document_, is_written ? list[i] : undefined(), is_written ? undefined() : list[i],
                       is_written ? list[i].Mark() : mark_, path, joined(key_path_, key)});
  }
  return readers;
}

void YamlReader::object(const std::string& key, Diagnostic said, std::initializer_list<std::string> depends_on) const {
  const auto is_sound = [&](const std::string& path) { return document_->is_sound(path); };
  if (!is_sound(path_of(key)) || !std::ranges::all_of(depends_on, is_sound)) return;
  const YAML::Node written = key.empty() ? node_ : child(node_, key);
  const YAML::Node before = key.empty() ? base_ : child(base_, key);
  const bool is_of_base = !written.IsDefined() && before.IsDefined();
  document_->object(mark_of(key), path_of(key) + (is_of_base ? " (of the base)" : ""), std::move(said));
}

}  // namespace halfstep::quant
