// Regions under construction: where operations are inserted, and how values of the enclosing graph are captured.
#pragma once

#include <map>
#include <utility>

#include "halfstep/core/ir/graph.h"

namespace halfstep::formats {

/// The current block and its captures. A value of an enclosing block becomes an operand of the operation that holds the
/// region, and an argument of each of its regions.
class Regions {
 public:
  /// The current block, or null for the graph's body.
  Block* block() const { return block_; }

  /// Returns the value that represents `value` in the current block.
  Value local(Value value);

 private:
  friend class InRegion;
  Value captured(Value value, Block& block);

  Block* block_ = nullptr;
  std::map<std::pair<const detail::OpNode*, const detail::ValueNode*>, size_t> captures_;  ///< position of the argument
};

/// Makes a region the current block during its lifetime.
class InRegion {
 public:
  InRegion(Regions& regions, Block& block) : regions_(regions), outer_(std::exchange(regions.block_, &block)) {}
  ~InRegion() { regions_.block_ = outer_; }
  InRegion(const InRegion&) = delete;
  InRegion& operator=(const InRegion&) = delete;

 private:
  Regions& regions_;
  Block* outer_;
};

}  // namespace halfstep::formats
