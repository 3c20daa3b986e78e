// Strict reading of YAML: a document is held against a list of its keys, and all that is wrong with it is said at once,
// each with file, line and path.
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

/// The document, or an error with its line. `file` is for messages.
YAML::Node parse_yaml(const std::string& text, const std::string& file);

class YamlReader;

/// A document and what is wrong with it.
class YamlDocument {
 public:
  /// Finds keys that are unknown, missing or given twice, and values that are not of their key's kind or not among its
  /// values. What the document leaves out it has from `base`, a document without mistakes, where that is defined.
  YamlDocument(const YAML::Node& root, std::string file, std::span<const RecordKey> keys,
               const YAML::Node& base = YAML::Node(YAML::NodeType::Undefined));

  YamlReader reader();
  /// In the order of their lines.
  std::vector<Diagnostic> objections() const;

 private:
  friend class YamlReader;
  /// What was found wrong without knowing what a key means, by its path.
  void object(const YAML::Mark& mark, const std::string& path, Diagnostic said);
  void reject(const YAML::Mark& mark, const std::string& path, Diagnostic said);
  void check(const YAML::Node& node, const YAML::Node& base, const std::string& path, const RecordKey& key);
  void check_mapping(const YAML::Node& node, const YAML::Node& base, const std::string& path,
                     const std::string& key_path);
  void check_list(const YAML::Node& list, const std::string& path, const RecordKey& key);
  /// Names of keys that unknown ones look like, which nobody calls missing.
  std::set<std::string> check_names(const YAML::Node& map, const std::string& path, const std::string& key_path);
  bool is_sound(const std::string& path) const;

  YAML::Node root_, base_;
  std::string file_;
  std::span<const RecordKey> keys_;
  std::set<std::string> wrong_;                         ///< paths
  std::vector<std::pair<int, Diagnostic>> objections_;  ///< with their lines
};

/// One mapping of a document, with what its base has there. A value that is wrong or absent reads as its key's default,
/// or as the first or least that there is: nobody uses what comes of a document with objections.
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

  /// From the root of the document: "weights.bits".
  std::string path_of(const std::string& key) const;
  const RecordKey& key_of(const std::string& key) const;
  /// Whether nothing about its kind and values was objected to.
  bool is_sound(const std::string& key) const { return document_->is_sound(path_of(key)); }

  /// Objects to what `key` has, "" for the mapping itself; where its value, or that of a path in `depends_on`, is wrong
  /// already, nothing is said.
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

  /// Where a key stands, or else the mapping or what that lies in.
  YAML::Mark mark_of(const std::string& key) const;
  /// The value, that of the base, its default, or an undefined node.
  YAML::Node at(const std::string& key) const;
  template <class T>
  T value(const std::string& key, T otherwise) const;

  YamlDocument* document_;
  YAML::Node node_, base_;
  YAML::Mark mark_;
  std::string path_, key_path_;
};

}  // namespace halfstep::quant
