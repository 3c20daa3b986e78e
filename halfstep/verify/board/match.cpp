#include "halfstep/verify/board/match.h"

#include <algorithm>
#include <map>

#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

/// The number of elements with each value, which does not depend on the order.
using Census = std::map<double, int64_t>;

constexpr int64_t kMostCounted = 1 << 20;

std::optional<Census> census(const Side& side, size_t index) {
  const Entry& entry = side.manifest.entries[index];
  const Stored stored = side.open(index);
  const ImageDims dims = ImageDims::of(entry.type.dims);
  const int64_t each = sample_bytes(dims, entry.type.dtype, entry.layout);
  if (each == 0 || static_cast<int64_t>(stored.cells.size()) < each || dims.sample() > kMostCounted)
    return std::nullopt;
  const auto samples = std::max<int64_t>(1, std::min(dims.n, kMostCounted / std::max<int64_t>(1, dims.sample())));
  const auto part = stored.cells.first(
      static_cast<size_t>(std::min<int64_t>(samples * each, static_cast<int64_t>(stored.cells.size()) / each * each)));
  Census found;
  for (const double number : numbers_of(decode(part, entry.type.dtype, entry.type.dims, entry.layout))) ++found[number];
  stored.forget(part);
  return found;
}

}  // namespace

std::vector<std::optional<size_t>> match(const Side& first, const Side& second) {
  const auto& wanted = first.manifest.entries;
  const auto& given = second.manifest.entries;
  std::vector<std::optional<size_t>> pairs(wanted.size());
  std::map<std::string, size_t> by_name;
  for (size_t j = 0; j < given.size(); ++j) by_name.emplace(given[j].name, j);
  std::vector<bool> taken(given.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = by_name.find(wanted[i].name);
    if (found == by_name.end()) continue;
    pairs[i] = found->second;
    taken[found->second] = true;
  }
  std::map<size_t, std::optional<Census>> seen;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (pairs[i]) continue;
    std::optional<Census> own;
    for (size_t j = 0; j < given.size() && !pairs[i]; ++j) {
      if (taken[j] || count_elements(given[j].type.dims) != count_elements(wanted[i].type.dims)) continue;
      if (!own) own = census(first, i);
      if (!seen.contains(j)) seen[j] = census(second, j);
      const bool telling = own && own->size() > 1;  // many values contain only a single number
      if (!telling || own != seen[j]) continue;
      pairs[i] = j;
      taken[j] = true;
    }
  }
  return pairs;
}

}  // namespace halfstep::board
