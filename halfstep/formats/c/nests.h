// Expresses a list of element moves in few loops.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace halfstep::formats::c {

/// An element that moves from one position to another.
struct Step {
  int64_t to = 0, from = 0;
};

/// Five loops, innermost last. Unused loops run once.
struct Nest {
  static constexpr size_t kDepth = 5;
  Step first;
  std::array<int64_t, kDepth> count = {1, 1, 1, 1, 1}, to_step = {}, from_step = {};
};

/// Returns loop nests that execute all steps once. `steps` are in the order of their `to`.
std::vector<Nest> nests_of(std::span<const Step> steps);

}  // namespace halfstep::formats::c
