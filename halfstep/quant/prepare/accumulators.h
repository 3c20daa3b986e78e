// What operators without weights add up, and whether a form of requantization takes it. docs/arithmetic.md, sections 5
// and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::quant {

/// The proof that a layer's accumulators are computed exactly: their largest magnitude does not pass the limit.
struct AccumulatorProof {
  std::string layer;
  int64_t bound = 0;
  int64_t limit = 0;
};

/// What the windows of an average divide by.
struct WindowCounts {
  int64_t whole = 0;         ///< elements of a window
  std::vector<int64_t> cut;  ///< where padding does not count: of the windows that an edge of x cuts, ascending
  int64_t most = 0;          ///< elements of x in one window, at most
  bool covers_x = false;     ///< there may be one window that is x
};

/// The counts of a pool that averages; nothing for any other operation, or where height and width of x decide and are
/// not known.
std::optional<WindowCounts> window_counts(Op op);

/// Of a mean over axes: how many elements it is of; nothing where an extent is open, and of any other operation.
std::optional<int64_t> averaged_elements(Op op);

/// Why no scales let `op`, which accumulates without weights, compute on codes under that form; empty where they may.
std::string obstacle_on_codes(Op op, arith::Requantization form);

/// The proof of an operation that accumulates without weights. `farthest` has the largest |code - zero point| of each
/// input; with 2^bits - 1 the proof holds for every zero point. Throws unsupported, with bound and limit, where there
/// is none.
AccumulatorProof accumulator_proof(Op op, arith::Requantization form, std::span<const int64_t> farthest);

}  // namespace halfstep::quant
