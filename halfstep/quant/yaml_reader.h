// Strict reading of YAML mappings: every key must be expected, every error names file and line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::quant {

/// One mapping of a YAML file. Reading a key marks it as known; `finish` rejects the others with a suggestion.
class YamlReader {
 public:
  /// Throws when `node` is not a mapping. `path` is the dotted key of the node, "" for the root.
  YamlReader(const YAML::Node& node, std::string file, std::string path);

  bool has(const std::string& key);
  std::string text(const std::string& key);
  std::string text(const std::string& key, const std::vector<std::string>& choices);
  int64_t integer(const std::string& key, int64_t low, int64_t high);
  double number(const std::string& key, double low, double high);
  bool boolean(const std::string& key);
  std::vector<int64_t> integers(const std::string& key);
  std::vector<std::string> texts(const std::string& key);
  YamlReader map(const std::string& key);
  std::vector<YamlReader> maps(const std::string& key);
  /// Rejects keys that nothing has asked for.
  void finish() const;

  /// "FILE:LINE: PATH: " of a key.
  std::string where(const std::string& key) const;

 private:
  YAML::Node at(const std::string& key);
  /// Throws when a key that nothing has asked for looks like `key`, which is missing.
  void reject_misspelling(const std::string& key) const;
  template <class T>
  T scalar(const std::string& key, std::string_view expected);

  YAML::Node node_;
  std::string file_, path_;
  std::set<std::string> known_;
};

/// The document, or an error with its line. `file` is for messages.
YAML::Node parse_yaml(const std::string& text, const std::string& file);

}  // namespace halfstep::quant
