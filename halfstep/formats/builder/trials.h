// Values of extents when dynamic extents are set to trial numbers. The importer uses them to recognize extents that are
// constant, such as those of [n, 16, 96] reshaped to [n, 16, 3, 2, -1], and to identify equal dynamic extents.
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

/// Value of a number at each trial, or kRefused if an operator rejects the trial. Types of records are sums, products
/// and quotients of extents. Numbers that agree at three or more trials with small and large extents are therefore
/// equal. The last eight trials are consecutive numbers around a power of two, which distinguish quotients with
/// different remainders.
using Tried = std::array<int64_t, 14>;
inline constexpr int64_t kRefused = INT64_MIN;

/// Whether both agree at every trial that neither rejects, with enough such trials.
bool agree(const Tried& a, const Tried& b);
/// Returns the same number at every trial.
Tried always(int64_t number);
/// Returns the number if it does not depend on dynamic extents.
std::optional<int64_t> constant(const Tried& tried);

/// An axis of a value.
struct OpenAxis {
  Value value;
  size_t axis;
};

/// Types of the values of a graph at each trial.
class Trials {
 public:
  /// `names` are the file's names of extents, or "". All leading extents are equal, because they count samples. Others
  /// are equal if they have the same name, or without names the same axis.
  void add_argument(Value argument, const std::vector<std::string>& names);
  void add(Op op);
  /// Adds a value whose extents no record infers, such as an argument or a result of a region. `extents` holds its
  /// dynamic extents. A missing one gets unique numbers, because only a run determines it.
  void add(Value value, const std::vector<std::optional<Tried>>& extents);
  bool is_own(const Tried& extent) const { return own_.contains(extent); }
  /// Returns an extent of a value, or nothing if it is unknown.
  std::optional<Tried> extent(Value value, size_t axis) const;
  std::optional<Tried> elements(Value value) const;
  /// Returns every extent of the values visible in `block`, its own and those of enclosing blocks, arguments first.
  /// Among values with the same extent it returns the first.
  std::vector<std::pair<Tried, OpenAxis>> seen_from(const Block& block) const;
  /// Returns the first visible axis with this extent.
  std::optional<OpenAxis> find(const Tried& extent, const Block& block) const;

 private:
  using Types = std::array<std::optional<Type>, std::tuple_size_v<Tried>>;
  std::optional<Types> types_of(Value value) const;
  void remember(Value value, const Types& types);
  /// Returns numbers that no other value has.
  Tried draw();

  std::map<std::string, size_t> numbers_;            ///< index of trial numbers by name of the dynamic extent
  size_t next_number_ = 1;                           ///< index 0 belongs to leading extents
  std::map<const detail::ValueNode*, Types> types_;  ///< types of values that are not static
  std::vector<std::pair<Tried, OpenAxis>> extents_;  ///< distinct dynamic extents, each with its first axis in a block
  std::map<std::pair<Tried, const Block*>, size_t> places_;  ///< index of each extent in `extents_`
  std::set<Tried> own_;                                      ///< unique numbers of values
};

}  // namespace halfstep::formats
