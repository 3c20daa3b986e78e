// How far apart elements lie in memory, and loops over them. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// Axes of a value from the outermost in memory to the innermost.
std::vector<size_t> memory_axes(const Body& body, Value value);

/// How far apart the elements of a value are along each of its axes; 0 along an axis of one element.
std::vector<int64_t> strides(const Body& body, Value value);

/// Loops from the outermost in: how often each runs, and how far it takes each of several values.
struct Loops {
  Dims count;
  std::vector<Dims> steps;  ///< of each value

  /// Adds an innermost loop, or lengthens the one that goes on where it begins for all values.
  void add(int64_t extent, const std::vector<int64_t>& each);
};

/// "{1, 1, 3, 4}": four numbers, the last ones those of `values`. More are refused before.
std::string four(const Dims& values, int64_t missing);

/// Refuses more than four loops: `what` is "operands that are repeated".
void require_four(Op op, const Loops& loops, const std::string& what);

}  // namespace halfstep::formats::c
