// Elements that move, as few loops.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace halfstep::formats::c {

/// An element that goes from one place to another.
struct Step {
  int64_t to = 0, from = 0;
};

/// Five loops, the innermost last; those that are not there run once.
struct Nest {
  static constexpr size_t kDepth = 5;
  Step first;
  std::array<int64_t, kDepth> count = {1, 1, 1, 1, 1}, to_step = {}, from_step = {};
};

/// Nests that make all steps once; `steps` are in the order of their `to`.
std::vector<Nest> nests_of(std::span<const Step> steps);

}  // namespace halfstep::formats::c
