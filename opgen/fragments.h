// Fragments: parts shared by records.
//
//   - fragment: window                     - op: conv2d
//     doc: The places of a window.           use: [window]
//     attr: {stride: [1, 1]}                 attr: {groups: 1, ...window, alpha: 0.01}
#pragma once

#include <map>
#include <string>
#include <vector>

#include "opgen/schema.h"
#include "opgen/yaml.h"

namespace halfstep::opgen {

class Fragments {
 public:
  /// Collects the fragments among the entries of all pages.
  Fragments(const std::vector<Yaml>& entries, const Schema& schema);

  static bool is_fragment(const Yaml& entry) { return entry.has("fragment"); }

  /// Returns `record` with the parts of its fragments. In each map these come first, in the order of `use`, or at
  /// `...NAME` in the record. No key may occur twice. Labels c1, c2 of a fragment's rules, and their cases under
  /// test.reject, are renumbered after the preceding rules.
  Yaml expand(const Yaml& record);

  /// Throws for an unused fragment.
  void check_used() const;

 private:
  struct Fragment {
    Yaml yaml;
    bool used = false;
  };

  const Yaml& take(const Yaml& name);

  std::map<std::string, Fragment> fragments_;
};

}  // namespace halfstep::opgen
