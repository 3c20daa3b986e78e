// YAML nodes that know where they stand.
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
  /// A map whose entries come from several places, each name once.
  Yaml(Entries entries, Source source);

  const Source& source() const { return source_; }
  bool is_map() const { return entries_ || node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  /// Written in quotes: text, whatever it looks like.
  bool is_quoted() const { return node_.Tag() == "!"; }
  /// "a map", "a list", "text", "nothing".
  const char* shape() const;

  /// The text of a scalar.
  const std::string& text() const { return node_.Scalar(); }
  bool has(const std::string& key) const;
  /// The value of a key that is there.
  Yaml at(const std::string& key) const;
  /// Keys and values of a map in file order; a key given twice is an error.
  Entries items() const;
  std::vector<Yaml> elements() const;
  /// The same under another path in messages.
  Yaml under(const std::string& path) const;

 private:
  Source source_of(const YAML::Node& node, const std::string& path) const;

  /// Of a map whose entries come from several places; null where there is no such name.
  const Yaml* entry(const std::string& key) const;

  YAML::Node node_;
  std::shared_ptr<const Entries> entries_;  ///< in place of the node
  Source source_;
};

/// The document in `file`, called `shown` in messages.
Yaml load_yaml(const std::string& file, const std::string& shown);

/// A number; also nan, inf and -inf. Throws when it is none.
double to_number(const Yaml& yaml);
int64_t to_int(const Yaml& yaml);
bool to_bool(const Yaml& yaml);

}  // namespace halfstep::opgen
