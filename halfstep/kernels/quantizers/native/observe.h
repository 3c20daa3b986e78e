// What the reference and the fast observer share: what elements add up to, and the step from there to the new state.
#pragma once

#include <limits>
#include <vector>

#include "halfstep/arith/observation.h"
#include "halfstep/kernels/common/blocks.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels {

/// Extremes of what was seen; low > high: nothing.
struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  bool seen() const { return low <= high; }
  Range with(Range other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

/// Most candidates of a search.
inline constexpr int kMaxCandidates = 128;

enum class Merge { moving, widest, last };

/// The attributes and operands of an observe_range.
struct Observer {
  bool is_test = false;
  arith::ObserverRule rule;
  Merge merge = Merge::moving;
  double rate = 0.1, power = 2.0, deviations = 2.6;
  int64_t bins = 0, steps = 0;
  bool halves_up = false;
  int64_t channels = 1;
  std::vector<Blocks> operands;  ///< of the variadic x

  explicit Observer(const Problem& problem);
  int64_t blocks() const;
  arith::Observing method() const { return rule.method; }
  bool searches_range() const { return rule.method == arith::Observing::mse; }
  bool searches_power() const {
    return rule.method == arith::Observing::power_floor || rule.method == arith::Observing::power_mode;
  }
  bool keeps_histogram() const { return arith::statistics_of(rule.method) == arith::kHistogramBins; }

  /// What is tried. Of ranges candidate i shrinks both ends together by 1 - i / steps or, where scales are powers of
  /// two from a range up, by 2^-i, since a finer step gives the same scale again.
  int candidates() const { return halving() ? std::min(candidates_, 16) : candidates_; }
  Range candidate(Range batch, int index) const;
  /// Candidate i of powers of two is 2^-(e + i), 2^-e being the next one up from where the range's ends are codes.
  int exponent(Range batch, int index) const;

  /// How many numbers the elements of a channel's batch add up to; 0: the extremes are enough.
  int64_t terms() const;
  /// The range that these numbers are of: the batch's, or that of all seen.
  Range range_of_terms(Range before, Range batch) const { return keeps_histogram() ? before.with(batch) : batch; }

 private:
  bool halving() const { return searches_range() && rule.grid.power_of_two && !rule.grid.nearest_power; }
  int candidates_ = 64;
};

/// NaN is skipped by the caller; infinities count as the largest finite value.
inline float finite_value(float x) {
  return std::clamp(x, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
}

/// Squared error of x under the parameters: codes by division, half to even.
double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid);

/// terms() numbers of the block's elements, in the order of blocks.h. `range` is range_of_terms.
void add_terms(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
               double* terms);

/// Whether the operands have the channels of the state, and the statistics are those of the method.
Verdict accept_observer(const Problem& problem);

/// The state's range of a channel, before this batch.
Range range_before(const Call& call, int64_t channel);

/// Moves the state of one channel by its batch and what its elements add up to: the range by the rule of `merge`, in
/// double, rounded once; statistics; then the parameters of both. A batch with nothing seen changes nothing; a state
/// without a range takes the batch's. The outputs may be the inputs' memory.
void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch, const double* terms);

}  // namespace halfstep::kernels
