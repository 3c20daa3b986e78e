// Strides of elements in memory, and loops over them. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// Returns the axes of a value from the outermost in memory to the innermost.
std::vector<size_t> memory_axes(const Body& body, Value value);

/// Returns the stride of a value along each of its axes, or 0 along an axis of one element.
std::vector<int64_t> strides(const Body& body, Value value);

/// Loops from the outermost to the innermost: their counts, and the steps of each of several values.
struct Loops {
  Dims count;
  std::vector<Dims> steps;  ///< steps of each value

  /// Adds an innermost loop, or extends the current one if it continues for all values.
  void add(int64_t extent, const std::vector<int64_t>& each);
};

/// Returns "{1, 1, 3, 4}": four numbers, the last ones from `values`. Callers reject more than four.
std::string four(const Dims& values, int64_t missing);

/// Rejects more than four loops. `what` names the kind in the message, such as "operands that are repeated".
void require_four(Op op, const Loops& loops, const std::string& what);

}  // namespace halfstep::formats::c
