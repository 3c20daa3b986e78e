// What extents come to where the open ones are tried at some numbers: how the importer tells an extent that only looks
// open, as that of [n, 16, 96] seen as [n, 16, 3, 2, -1], from one that is.
#pragma once

#include <array>
#include <map>
#include <optional>

#include "halfstep/ir/graph.h"

namespace halfstep::formats {

/// The numbers that the leading extent is tried at: types of records are sums, products and quotients of extents, and
/// what is the same at three of these is the same.
inline constexpr std::array<int64_t, 3> kTries = {2, 3, 7};
using Tried = std::array<int64_t, kTries.size()>;

/// Types of the values of a graph at each try. Where an argument's extents but for the first are open, or an operator
/// refuses a number, nothing is known of what comes of it.
class Trials {
 public:
  void add_argument(Value argument);
  void add(Op op);
  /// Of an extent of a value; nothing where that is not known.
  std::optional<Tried> extent(Value value, size_t axis) const;
  std::optional<Tried> elements(Value value) const;

 private:
  using Types = std::array<Type, kTries.size()>;
  std::optional<Types> types_of(Value value) const;

  std::map<const detail::ValueNode*, Types> types_;  ///< of values that are not static
};

}  // namespace halfstep::formats
