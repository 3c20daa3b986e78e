// Where a network may be cut in two.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::sensitivity {

class Cuts {
 public:
  explicit Cuts(const Graph& graph);

  /// The first operation that computes with what this one gives: itself, or where it is made of tensors alone, as a
  /// quantizer of weights is, the first behind it that is not.
  size_t position(Op op) const;
  /// Values that are computed in front of an operation of the graph and read by it or behind it.
  std::vector<std::string> live(size_t position) const;

 private:
  size_t index(Op op) const;

  std::vector<Op> ops_;
  std::map<const detail::OpNode*, size_t> indices_;
  std::set<const detail::OpNode*> stored_;  ///< operations made of tensors alone
};

}  // namespace halfstep::sensitivity
