// Allowed keys of records, read from ops/schema.yaml.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opgen/yaml.h"

namespace halfstep::opgen {

/// A C++ enum for the choices of a key.
struct Enum {
  std::string name, doc;
  std::vector<std::pair<std::string, std::string>> values;  ///< name and description
};

class Schema {
 public:
  explicit Schema(const Yaml& page);

  /// Throws for the first key or value of `yaml` that its level does not allow, and for a missing required key.
  void check_record(const Yaml& yaml) const { check_level(yaml, "record"); }

  /// Checks the keys of a fragment: its own keys and those of a record. The values are checked in the records that use
  /// it.
  void check_fragment(const Yaml& yaml) const;

  const std::vector<Enum>& enums() const { return enums_; }

 private:
  struct Key {
    std::string name, type;
    bool required;
    std::vector<std::string> choices;
  };

  static void check_choice(const Yaml& yaml, const Key& key);
  static const Key* find_key(const std::vector<Key>& keys, std::string_view name);
  static std::vector<std::string> names(const std::vector<Key>& keys);

  void check(const Yaml& yaml, std::string_view type) const;
  void check_level(const Yaml& yaml, const std::string& level) const;
  void check_scalar(const Yaml& yaml, std::string_view type) const;
  bool fits(const Yaml& yaml, std::string_view type) const;

  std::map<std::string, std::vector<Key>, std::less<>> levels_;
  std::vector<Enum> enums_;
};

}  // namespace halfstep::opgen
