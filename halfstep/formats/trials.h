// What extents come to where the open ones are tried at some numbers: how the importer tells an extent that only looks
// open, as that of [n, 16, 96] seen as [n, 16, 3, 2, -1], from one that is, and which of the open ones that is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/ir/graph.h"

namespace halfstep::formats {

/// What a number comes to at each try; kRefused where an operator refuses that try. Types of records are sums, products
/// and quotients of extents, so what agrees at three tries or more of small and large numbers is the same.
using Tried = std::array<int64_t, 6>;
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
  /// Of an extent of a value; nothing where that is not known.
  std::optional<Tried> extent(Value value, size_t axis) const;
  std::optional<Tried> elements(Value value) const;
  /// The first value, arguments before others, that has such an extent.
  std::optional<OpenAxis> find(const Tried& extent) const;

 private:
  using Types = std::array<std::optional<Type>, std::tuple_size_v<Tried>>;
  std::optional<Types> types_of(Value value) const;
  void remember(Value value, const Types& types);

  std::map<std::string, size_t> numbers_;            ///< of open extents by name: a row of what is tried
  std::map<const detail::ValueNode*, Types> types_;  ///< of values that are not static
  std::vector<std::pair<Tried, OpenAxis>> extents_;  ///< open ones that differ, each with the first that has it
  std::map<Tried, size_t> places_;                   ///< of each of them in that list
};

}  // namespace halfstep::formats
