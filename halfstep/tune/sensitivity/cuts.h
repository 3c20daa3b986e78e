// Finds positions at which a network can be cut in two.
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

  /// Index of the first operation that computes data with the result of `op`. This is `op` itself, unless it depends on
  /// tensors only, like a quantizer of weights. Then it is the first later operation that does not.
  size_t position(Op op) const;
  /// Names of values computed before an operation of the graph, and read by it or later.
  std::vector<std::string> live(size_t position) const;

 private:
  size_t index(Op op) const;

  std::vector<Op> ops_;
  std::map<const detail::OpNode*, size_t> indices_;
  std::set<const detail::OpNode*> stored_;  ///< operations that depend on tensors only
};

}  // namespace halfstep::sensitivity
