// What the reference and the fast observer share: candidates, and the step from a batch's range to the new state.
#pragma once

#include <limits>
#include <vector>

#include "halfstep/arith/range.h"
#include "halfstep/kernels/common/blocks.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels {

/// Extremes of what was seen; low > high: nothing.
struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  bool seen() const { return low <= high; }
};

/// Most candidates of an mse search.
inline constexpr int kMaxCandidates = 64;

/// The attributes and operands of an observe_range.
struct Observer {
  bool is_test = false;
  bool mse = false;
  double rate = 0.1;
  arith::CodeGrid grid;
  int64_t channels = 1;
  std::vector<Blocks> operands;  ///< of the variadic x

  explicit Observer(const Problem& problem);
  int64_t blocks() const;

  /// Ranges that the mse search compares. Candidate i shrinks both ends together by 1 - i / 80, down to about a fifth,
  /// in 64 steps; where scales are powers of two, by 2^-i in 16 steps, since a finer step gives the same scale again.
  int candidates() const { return !mse ? 1 : grid.power_of_two ? 16 : kMaxCandidates; }
  Range candidate(Range batch, int index) const;
};

/// NaN is skipped by the caller; infinities count as the largest finite value.
inline float finite_value(float x) {
  return std::clamp(x, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
}

/// Squared error of x under the parameters: codes by division, half to even.
double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid);

/// Index of the smallest error, the first of equal ones; 0 where the errors are NaN.
int best_candidate(const double* errors, int count);

/// Whether the operands have the channels of the state.
Verdict accept_observer(const Problem& problem);

/// Moves the state of one channel by its batch: low' = (1 - rate) * low + rate * batch.low in double, rounded once,
/// high likewise, then the parameters of the new range. A batch with nothing seen changes nothing; a state without a
/// range takes the batch's. The outputs may be the inputs' memory.
void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch);

}  // namespace halfstep::kernels
