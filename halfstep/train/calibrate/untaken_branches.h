// Branches that no sample takes, whose observers would see nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

class UntakenBranches {
 public:
  /// Calibrated but for them; it must outlive this.
  explicit UntakenBranches(const Model& prepared) : prepared_(prepared) {}

  /// Looks for further branches none of whose observers has a range, outermost first; whether there are any. One inside
  /// of a loop is none: the other branch may be what ends it.
  bool find();
  /// `observing`, whose samples take all of these branches, with those observers alone that have no range.
  Model entered(const Model& observing) const;
  /// "if 'gate': region 'then'".
  std::vector<std::string> names() const;

 private:
  const Model& prepared_;
  std::map<std::string, size_t> regions_;  ///< by operation: which of its regions no sample takes
};

}  // namespace halfstep::train
