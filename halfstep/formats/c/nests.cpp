#include "halfstep/formats/c/nests.h"

#include <algorithm>

namespace halfstep::formats::c {
namespace {

Step distance(const Step& a, const Step& b) { return {b.to - a.to, b.from - a.from}; }
bool operator==(const Step& a, const Step& b) { return a.to == b.to && a.from == b.from; }

/// Whether the `length` steps at `at` repeat those at `before`, all shifted by `by`.
bool repeats(std::span<const Step> steps, size_t before, size_t at, size_t length, const Step& by) {
  if (at + length > steps.size()) return false;
  for (size_t i = 0; i < length; ++i) {
    if (!(distance(steps[before + i], steps[at + i]) == by)) return false;
  }
  return true;
}

/// Returns the loop nest that starts at the first step. It covers `taken` steps.
Nest first_nest(std::span<const Step> steps, size_t& taken) {
  Nest nest;
  nest.first = steps[0];
  taken = 1;
  for (size_t level = Nest::kDepth; level-- > 0 && taken < steps.size();) {
    const size_t length = taken;
    const Step by = distance(steps[0], steps[length]);
    size_t count = 1;
    while (repeats(steps, (count - 1) * length, count * length, length, by)) ++count;
    if (count == 1) break;
    nest.count[level] = static_cast<int64_t>(count);
    nest.to_step[level] = by.to;
    nest.from_step[level] = by.from;
    taken = count * length;
  }
  return nest;
}

}  // namespace

std::vector<Nest> nests_of(std::span<const Step> steps) {
  std::vector<Nest> nests;
  for (size_t taken = 0; !steps.empty(); steps = steps.subspan(taken)) nests.push_back(first_nest(steps, taken));
  return nests;
}

}  // namespace halfstep::formats::c
