// YAML nodes with their source locations.
#pragma once

#include <yaml-cpp/yaml.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opgen/source.h"

namespace halfstep::opgen {

class Yaml {
 public:
  using Entries = std::vector<std::pair<std::string, Yaml>>;

  Yaml(const YAML::Node& node, Source source) : node_(node), source_(std::move(source)) {}
  /// Creates a map whose entries come from several locations. Each name occurs once.
  Yaml(Entries entries, Source source);

  const Source& source() const { return source_; }
  bool is_map() const { return entries_ || node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  /// Whether the text was quoted. Quoted text is always a string.
  bool is_quoted() const { return node_.Tag() == "!"; }
  /// Returns "a map", "a list", "text" or "nothing".
  const char* shape() const;

  /// Returns the text of a scalar.
  const std::string& text() const { return node_.Scalar(); }
  bool has(const std::string& key) const;
  /// Returns the value of a key, which must exist.
  Yaml at(const std::string& key) const;
  /// Returns keys and values of a map in file order. Throws for a duplicate key.
  Entries items() const;
  std::vector<Yaml> elements() const;
  /// Returns the node with another path for messages.
  Yaml under(const std::string& path) const;

 private:
  Source source_of(const YAML::Node& node, const std::string& path) const;

  /// Returns an entry of a map from several locations, or null if the name does not exist.
  const Yaml* entry(const std::string& key) const;

  YAML::Node node_;
  std::shared_ptr<const Entries> entries_;  ///< used instead of the node
  Source source_;
};

/// Loads the document in `file`. `shown` is its name in messages.
Yaml load_yaml(const std::string& file, const std::string& shown);

/// Reads a number, or nan, inf or -inf. Throws for other text.
double to_number(const Yaml& yaml);
int64_t to_int(const Yaml& yaml);
bool to_bool(const Yaml& yaml);

}  // namespace halfstep::opgen
