// Branches that no sample takes, so that their observers see no values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

class UntakenBranches {
 public:
  /// `prepared` is calibrated except for these branches. It must outlive this object.
  explicit UntakenBranches(const Model& prepared) : prepared_(prepared) {}

  /// Looks for further branches without any calibrated observer, outermost first. Returns whether there are any. A
  /// branch inside a loop does not count, because the other branch may end the loop.
  bool find();
  /// `observing`, changed so that samples take all of these branches, with only the observers without a range.
  Model entered(const Model& observing) const;
  /// For example "if 'gate': region 'then'".
  std::vector<std::string> names() const;

 private:
  const Model& prepared_;
  std::map<std::string, size_t> regions_;  ///< region that no sample takes, by operation name
};

}  // namespace halfstep::train
