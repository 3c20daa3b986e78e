// Fragments: parts that records share.
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
  /// Those among the entries of all pages.
  Fragments(const std::vector<Yaml>& entries, const Schema& schema);

  static bool is_fragment(const Yaml& entry) { return entry.has("fragment"); }

  /// `record` with the parts of the fragments that it uses. In each map theirs come first, in the order of `use`, or
  /// where the record says `...NAME`; nothing may be there twice. Labels c1, c2 of a fragment's rules, and their cases
  /// under test.reject, count on from the rules before them.
  Yaml expand(const Yaml& record);

  /// Throws at a fragment that no record has used.
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
