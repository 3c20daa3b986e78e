// What extents come to where the open ones are tried at some numbers: how the importer tells an extent that only looks
// open, as that of [n, 16, 96] seen as [n, 16, 3, 2, -1], from one that is, and which of the open ones that is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::formats {

/// What a number comes to at each try; kRefused where an operator refuses that try. Types of records are sums, products
/// and quotients of extents, so what agrees at three tries or more of small and large numbers is the same. The last
/// eight follow each other around a power of two: quotients that leave another rest differ there.
using Tried = std::array<int64_t, 14>;
inline constexpr int64_t kRefused = INT64_MIN;

/// Whether two are the same at every try that both have, of which there are enough.
bool agree(const Tried& a, const Tried& b);
/// The same number at every try.
Tried always(int64_t number);
/// The number, where it does not depend on open extents.
std::optional<int64_t> constant(const Tried& tried);

/// An axis of a value.
struct OpenAxis {
  Value value;
  size_t axis;
};

/// Types of the values of a graph at each try.
class Trials {
 public:
  /// `names` are what the file calls its extents: "" where it has none. Leading extents are one, as they count samples;
  /// of the others those that have one name are, or without names those of one axis.
  void add_argument(Value argument, const std::vector<std::string>& names);
  void add(Op op);
  /// A value whose extents no record infers, such as what goes into a region or comes out of it: an open one is what
  /// `extents` says, or else a number of its own, as only a run tells it.
  void add(Value value, const std::vector<std::optional<Tried>>& extents);
  bool is_own(const Tried& extent) const { return own_.contains(extent); }
  /// Of an extent of a value; nothing where that is not known.
  std::optional<Tried> extent(Value value, size_t axis) const;
  std::optional<Tried> elements(Value value) const;
  /// Every extent of the values that `block` sees, its own and those of blocks around it, arguments before others; of
  /// values with the same extent the first.
  std::vector<std::pair<Tried, OpenAxis>> seen_from(const Block& block) const;
  /// The first of these that is `extent`.
  std::optional<OpenAxis> find(const Tried& extent, const Block& block) const;

 private:
  using Types = std::array<std::optional<Type>, std::tuple_size_v<Tried>>;
  std::optional<Types> types_of(Value value) const;
  void remember(Value value, const Types& types);
  /// Numbers that no other value has.
  Tried draw();

  std::map<std::string, size_t> numbers_;                    ///< of open extents by name: what they are tried at
  size_t next_number_ = 1;                                   ///< 0 is that of leading extents
  std::map<const detail::ValueNode*, Types> types_;          ///< of values that are not static
  std::vector<std::pair<Tried, OpenAxis>> extents_;          ///< open ones that differ, each with the first of a block
  std::map<std::pair<Tried, const Block*>, size_t> places_;  ///< of each of them in that list
  std::set<Tried> own_;                                      ///< numbers of values' own
};

}  // namespace halfstep::formats
