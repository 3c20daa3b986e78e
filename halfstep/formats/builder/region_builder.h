// Regions while they are filled: where operations go, and how values of the graph around come in.
#pragma once

#include <map>
#include <utility>

#include "halfstep/core/ir/graph.h"

namespace halfstep::formats {

/// The block that operations are put into, and what it captures. A value of a block around becomes an operand of the
/// operation that holds the region, and an argument of each of its regions.
class Regions {
 public:
  /// The block at hand; null for the graph's body.
  Block* block() const { return block_; }

  /// What stands for `value` in the block at hand.
  Value local(Value value);

 private:
  friend class InRegion;
  Value captured(Value value, Block& block);

  Block* block_ = nullptr;
  std::map<std::pair<const detail::OpNode*, const detail::ValueNode*>, size_t> captures_;  ///< the argument's place
};

/// A region that is being filled, as long as it lives.
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
