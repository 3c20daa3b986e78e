// A step of an observer: what its elements add up to, and what becomes of range and statistics. docs/arithmetic.md,
// section 3.
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

/// Extremes of what was seen; low > high: nothing.
struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  bool seen() const { return low <= high; }
  Range with(Range other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

/// Most candidates of a search.
inline constexpr int kMaxCandidates = 128;

enum class Merge {
  moving,
  widest,
  last,
  parts  ///< what is seen is a part of a step, whose range is known: only its terms are added up
};

/// How the terms of each number are cut.
class TermGrids {
 public:
  /// One for all, or one for each number.
  explicit TermGrids(std::vector<TermGrid> grids) : grids_(std::move(grids)) {}
  const TermGrid& operator[](int64_t term) const { return grids_[grids_.size() == 1 ? 0 : static_cast<size_t>(term)]; }

 private:
  std::vector<TermGrid> grids_;
};

/// The attributes of an observe_range.
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

  /// What is tried. Of ranges candidate i shrinks both ends together by 1 - i / steps or, where scales are powers of
  /// two from a range up, by 2^-i, since a finer step gives the same scale again.
  int candidates() const { return halving() ? std::min(most_candidates, 16) : most_candidates; }
  Range candidate(Range step, int index) const;
  /// Candidate i of powers of two is 2^-(e + i), 2^-e being the next one up from where the range's ends are codes.
  int exponent(Range step, int index) const;

  /// How many numbers the elements of a step add up to; 0: the extremes are enough.
  int64_t terms() const;
  /// The range that these numbers are of: the step's, or that of all seen.
  Range range_of_terms(Range before, Range step) const { return keeps_histogram() ? before.with(step) : step; }
  /// How their terms are cut, for elements within `range`.
  TermGrids term_grids(Range range) const;
  /// How many numbers an observer keeps of a channel in `seen`.
  int64_t statistics() const;

 private:
  bool halving() const { return searches_range() && grid().power_of_two && !grid().nearest_power; }
};

/// What an observer keeps of a channel.
struct ObserverState {
  Range range;
  std::span<double> seen;
  AffineParameters parameters;
};

/// Moves the state by a step and what its elements add up to: the range by the rule of `merge`, in double, rounded
/// once; statistics; then the parameters of both. A step with nothing seen changes nothing; a state without a range
/// takes the step's.
void take_step(const StepRule& rule, Range step, std::span<const double> terms, ObserverState& state);

/// Numbers by which moments are taken: how many, sums of magnitudes, of values and of squares.
inline constexpr int kMoments = 4;

}  // namespace halfstep::arith
