// Strict reading of YAML. Checks a document against a list of keys and reports all mistakes together, each with file,
// line and path.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/quant/platform/record_keys.h"

namespace halfstep::quant {

/// Parses a document. Throws an Error with the line of a syntax error. `file` is the name for messages.
YAML::Node parse_yaml(const std::string& text, const std::string& file);

class YamlReader;

/// A document and the mistakes found in it.
class YamlDocument {
 public:
  /// Finds unknown, missing and duplicate keys, values of the wrong kind, and illegal values. If `base` is defined, it
  /// provides the keys that the document omits. `base` must have no mistakes.
  YamlDocument(const YAML::Node& root, std::string file, std::span<const RecordKey> keys,
               const YAML::Node& base = YAML::Node(YAML::NodeType::Undefined));

  YamlReader reader();
  /// All mistakes, sorted by line.
  std::vector<Diagnostic> objections() const;

 private:
  friend class YamlReader;
  /// Adds a mistake. object() is for checks that need the semantics of a key.
  /// reject() is for structural mistakes, and marks the path as wrong.
  void object(const YAML::Mark& mark, const std::string& path, Diagnostic said);
  void reject(const YAML::Mark& mark, const std::string& path, Diagnostic said);
  void check(const YAML::Node& node, const YAML::Node& base, const std::string& path, const RecordKey& key);
  void check_mapping(const YAML::Node& node, const YAML::Node& base, const std::string& path,
                     const std::string& key_path);
  void check_list(const YAML::Node& list, const std::string& path, const RecordKey& key);
  /// Reports unknown keys. Returns the known keys that they resemble, which are then not reported as missing.
  std::set<std::string> check_names(const YAML::Node& map, const std::string& path, const std::string& key_path);
  bool is_sound(const std::string& path) const;

  YAML::Node root_, base_;
  std::string file_;
  std::span<const RecordKey> keys_;
  std::set<std::string> wrong_;                         ///< paths with wrong values
  std::vector<std::pair<int, Diagnostic>> objections_;  ///< with line numbers
};

/// One mapping of a document, with fallback to its base. A wrong or absent value reads as the key's default, its first
/// choice or its least value. Documents with mistakes are rejected, so no result depends on these values.
class YamlReader {
 public:
  bool has(const std::string& key) const;
  std::string text(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  double number(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  YamlReader map(const std::string& key) const;
  std::vector<YamlReader> maps(const std::string& key) const;

  /// The path from the root of the document, for example "weights.bits".
  std::string path_of(const std::string& key) const;
  const RecordKey& key_of(const std::string& key) const;
  /// Whether kind and value of the key have no mistakes.
  bool is_sound(const std::string& key) const { return document_->is_sound(path_of(key)); }

  /// Reports a mistake in the value of `key`, or in the mapping itself for "". Reports nothing if this value, or a
  /// value at a path in `depends_on`, is already wrong.
  void object(const std::string& key, Diagnostic said, std::initializer_list<std::string> depends_on = {}) const;

 private:
  friend class YamlDocument;
  YamlReader(YamlDocument& document, const YAML::Node& node, const YAML::Node& base, const YAML::Mark& mark,
             std::string path, std::string key_path)
      : document_(&document),
        node_(node),
        base_(base),
        mark_(mark),
        path_(std::move(path)),
        key_path_(std::move(key_path)) {}

  /// Position of the key, or of the mapping that contains it.
  YAML::Mark mark_of(const std::string& key) const;
  /// The value of the key, its value in the base, its default, or an undefined node.
  YAML::Node at(const std::string& key) const;
  template <class T>
  T value(const std::string& key, T otherwise) const;

  YamlDocument* document_;
  YAML::Node node_, base_;
  YAML::Mark mark_;
  std::string path_, key_path_;
};

}  // namespace halfstep::quant
