// Accumulator bounds of operators without weights, and whether a requantization supports them. See docs/arithmetic.md,
// sections 5 and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::quant {

/// The proof that a layer computes its accumulators exactly: the largest magnitude `bound` does not exceed `limit`.
struct AccumulatorProof {
  std::string layer;
  int64_t bound = 0;
  int64_t limit = 0;
};

/// Divisors of the windows of an average pool.
struct WindowCounts {
  int64_t whole = 0;         ///< elements of a whole window
  std::vector<int64_t> cut;  ///< if padding does not count: element counts of the windows that an edge of x cuts,
                             ///< ascending
  int64_t most = 0;          ///< largest number of elements of x in one window
  bool covers_x = false;     ///< whether a window may cover all of x
};

/// The window counts of an average pool. Empty for any other operation, or if they depend on a height and width of x
/// that are dynamic.
std::optional<WindowCounts> window_counts(Op op);

/// The reason why `op`, which accumulates without weights, cannot compute on codes under this form with any scales.
/// Empty if it can.
std::string obstacle_on_codes(Op op, arith::Requantization form, int average_bits);

/// The proof of an operation that accumulates without weights. `farthest` has the largest |code - zero point| of each
/// input. With 2^bits - 1 the proof holds for every zero point. Throws unsupported, with bound and limit, if the bound
/// exceeds the limit.
AccumulatorProof accumulator_proof(Op op, arith::Requantization form, std::span<const int64_t> farthest);

/// The reason for a mean over dynamic extents that a platform divides by shifts, or computes in windows.
inline constexpr const char* kOpenMean = "the number of elements in its mean depends on dynamic dimensions";

}  // namespace halfstep::quant
