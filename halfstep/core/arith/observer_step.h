// One step of an observer: sums over its elements, and the update of range and statistics. docs/arithmetic.md, section
// 3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "halfstep/core/arith/exact_sum.h"
#include "halfstep/core/arith/observation.h"
#include "halfstep/core/base/attribute.h"

namespace halfstep::arith {

/// Extremes of the observed data. Empty if low > high.
struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  bool seen() const { return low <= high; }
  Range with(Range other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

/// Maximum number of candidates of a search.
inline constexpr int kMaxCandidates = 128;

enum class Merge {
  moving,
  widest,
  last,
  parts  ///< data are a part of a step whose range is known, so only the terms are summed
};

/// Grids that split the terms of each sum (exact_sum.h).
class TermGrids {
 public:
  /// Takes one grid for all sums, or one grid for each sum.
  explicit TermGrids(std::vector<TermGrid> grids) : grids_(std::move(grids)) {}
  const TermGrid& operator[](int64_t term) const { return grids_[grids_.size() == 1 ? 0 : static_cast<size_t>(term)]; }

 private:
  std::vector<TermGrid> grids_;
};

/// Attributes of an observe_range operator.
struct StepRule {
  ObserverRule parameters;
  Merge merge = Merge::moving;
  double rate = 0.1, power = 2.0, deviations = 2.6;
  int64_t bins = 2048, steps = 80;
  int most_candidates = 64;
  bool halves_up = false;

  explicit StepRule(const Attributes& attributes);

  Observing method() const { return parameters.method; }
  const CodeGrid& grid() const { return parameters.grid; }
  bool searches_range() const { return method() == Observing::mse; }
  bool searches_power() const { return method() == Observing::power_floor || method() == Observing::power_mode; }
  bool keeps_histogram() const { return statistics_of(method()) == kHistogramBins; }

  /// Number of candidates. Candidate i of a range shrinks both ends by the factor 1 - i / steps. Where scales are
  /// powers of two rounded up, the factor is 2^-i, because a finer step would lead to the same scale again.
  int candidates() const { return halving() ? std::min(most_candidates, 16) : most_candidates; }
  Range candidate(Range step, int index) const;
  /// Exponent of candidate i of a search over powers of two: the scale is 2^-(e + i). 2^-e is the next power of two
  /// above the scale that maps the ends of the range to codes.
  int exponent(Range step, int index) const;

  /// Number of sums over the elements of a step. 0 if the extremes are enough.
  int64_t terms() const;
  /// Returns the range to which the sums refer: the range of the step or, for histograms, of all data.
  Range range_of_terms(Range before, Range step) const { return keeps_histogram() ? before.with(step) : step; }
  /// Returns the grids for the terms of elements within `range`.
  TermGrids term_grids(Range range) const;
  /// Returns how many numbers an observer stores per channel in `seen`.
  int64_t statistics() const;

 private:
  bool halving() const { return searches_range() && grid().power_of_two && !grid().nearest_power; }
};

/// State of an observer for one channel.
struct ObserverState {
  Range range;
  std::span<double> seen;
  AffineParameters parameters;
};

/// Updates the state by a step and the sums over its elements. The range follows the rule of `merge`, computed in
/// double and rounded once. Then the statistics are updated, and the parameters recomputed. An empty step changes
/// nothing. A state without a range takes the range of the step.
void take_step(const StepRule& rule, Range step, std::span<const double> terms, ObserverState& state);

/// Number of sums for moments: the count, and the sums of magnitudes, of values and of squares.
inline constexpr int kMoments = 4;

}  // namespace halfstep::arith
