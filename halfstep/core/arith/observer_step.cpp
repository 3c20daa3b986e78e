#include "halfstep/core/arith/observer_step.h"

#include <cmath>
#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::arith {
namespace {

Merge parse_merge(std::string_view text) {
  if (text == "parts") return Merge::parts;
  return text == "widest" ? Merge::widest : text == "last" ? Merge::last : Merge::moving;
}

ObserverRule parameters_rule(const Attributes& attributes) {
  const auto zero_points = parse_zero_points(get<std::string>(attributes, "zero_points"));
  const auto method = parse_observing(get<std::string>(attributes, "method"));
  HS_CHECK(zero_points.has_value() && method.has_value());
  return {*method,
          {static_cast<int32_t>(get<int64_t>(attributes, "code_min")),
           static_cast<int32_t>(get<int64_t>(attributes, "code_max")), *zero_points,
           get<bool>(attributes, "power_of_two"), get<bool>(attributes, "nearest_power")},
          get<double>(attributes, "share")};
}

/// Returns the index of the smallest number, the first one of equal numbers, or 0 if they are NaN.
int least_of(std::span<const double> errors, int count) {
  size_t best = 0;
  for (size_t i = 1; i < static_cast<size_t>(count); ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return static_cast<int>(best);
}

/// Returns the middle of the first bin whose upper end has at least the share of all magnitudes below it. Returns the
/// largest magnitude if there is none.
double clip_of(const StepRule& rule, Range step, std::span<const double> counts) {
  double all = 0.0, passed = 0.0;
  for (const double count : counts) all += count;
  const auto largest = static_cast<double>(std::max(-step.low, step.high));
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    passed += counts[bin];
    if (passed >= rule.parameters.share * all)
      return (static_cast<double>(bin) + 0.5) * (largest / static_cast<double>(rule.bins));
  }
  return largest;
}

struct Moments {
  double magnitude = 0.0, mean = 0.0, deviation = 0.0;
};

Moments moments_of(std::span<const double> terms) {
  const double n = terms[0];
  const double variance = n > 1 ? std::max(0.0, (terms[3] - terms[2] * terms[2] / n) / (n - 1)) : 0.0;
  return {terms[1] / n, terms[2] / n, std::sqrt(variance)};
}

/// Returns the range that represents a step, by the observer's method.
Range range_taken(const StepRule& rule, Range step, std::span<const double> terms) {
  switch (rule.method()) {
    case Observing::mse: return rule.candidate(step, least_of(terms, rule.candidates()));
    case Observing::quantile: {
      const double clip = clip_of(rule, step, terms);
      return {static_cast<float>(std::clamp<double>(step.low, -clip, clip)),
              static_cast<float>(std::clamp<double>(step.high, -clip, clip))};
    }
    case Observing::clip_std:
    case Observing::widen_std: {
      const Moments moments = moments_of(terms);
      const Range around{static_cast<float>(moments.mean - rule.deviations * moments.deviation),
                         static_cast<float>(moments.mean + rule.deviations * moments.deviation)};
      if (rule.method() == Observing::widen_std) return around.with(step);
      return {std::clamp(around.low, step.low, step.high), std::clamp(around.high, step.low, step.high)};
    }
    default: return step;
  }
}

Range merged(const StepRule& rule, Range before, Range step) {
  if (!before.seen()) return step;
  if (rule.merge == Merge::widest || rule.keeps_histogram()) return before.with(step);
  if (rule.merge == Merge::last) return step;
  const auto moved = [&](float from, float to) {
    return static_cast<float>((1.0 - rule.rate) * from + rule.rate * to);
  };
  return {moved(before.low, step.low), moved(before.high, step.high)};
}

/// Updates the statistics of a step besides its range.
void update_statistics(const StepRule& rule, Range before, Range step, std::span<const double> terms,
                       std::span<double> seen) {
  switch (rule.method()) {
    case Observing::lsq: seen[0] = moments_of(terms).magnitude; break;
    case Observing::lsq_plus:
      seen[0] = moments_of(terms).mean;
      seen[1] = moments_of(terms).deviation;
      break;
    case Observing::power_floor: std::ranges::fill(seen, 0.0); [[fallthrough]];
    case Observing::power_mode: {
      constexpr int kMost = 12;  // most fraction bits of a scale
      const int exponent = std::min(kMost, rule.exponent(step, least_of(terms, rule.candidates())));
      seen[static_cast<size_t>(exponent - kLowestExponent)] += 1.0;
      break;
    }
    default:
      if (seen.empty()) break;
      const Range all = before.with(step);
      const auto exponent = [](Range range) { return histogram_exponent(range.low, range.high); };
      if (before.seen()) widen_histogram(seen, exponent(before), exponent(all));
      for (size_t bin = 0; bin < seen.size(); ++bin) seen[bin] += terms[bin];
  }
}

}  // namespace

StepRule::StepRule(const Attributes& attributes)
    : parameters(parameters_rule(attributes)),
      merge(parse_merge(get<std::string>(attributes, "merge"))),
      rate(get<double>(attributes, "rate")),
      power(get<double>(attributes, "power")),
      deviations(get<double>(attributes, "deviations")),
      bins(get<int64_t>(attributes, "bins")),
      steps(get<int64_t>(attributes, "steps")),
      most_candidates(static_cast<int>(get<int64_t>(attributes, "candidates"))),
      halves_up(get<std::string>(attributes, "halves") == "up") {}

Range StepRule::candidate(Range step, int index) const {
  const double factor = halving() ? std::ldexp(1.0, -index) : 1.0 - index / static_cast<double>(steps);
  return {static_cast<float>(step.low * factor), static_cast<float>(step.high * factor)};
}

int StepRule::exponent(Range step, int index) const {
  const auto code_min = static_cast<double>(grid().code_min), code_max = static_cast<double>(grid().code_max);
  const double below = code_min < 0 ? step.low / code_min : 0.0;
  const double scale = std::max(below, step.high / code_max);
  constexpr double kNothing = 0x1p-15;  // a smaller scale counts as 1
  const double first = scale < kNothing ? 0.0 : std::floor(std::log2(1.0 / scale));
  return std::clamp(static_cast<int>(first) + index, kLowestExponent, kLowestExponent + kExponents - 1);
}

int64_t StepRule::terms() const {
  switch (method()) {
    case Observing::minmax: return 0;
    case Observing::mse:
    case Observing::power_floor:
    case Observing::power_mode: return candidates();
    case Observing::quantile: return bins;
    case Observing::clip_std:
    case Observing::widen_std:
    case Observing::lsq:
    case Observing::lsq_plus: return kMoments;
    case Observing::percentile:
    case Observing::kl:
    case Observing::histogram: return kHistogramBins;
  }
  return 0;
}

TermGrids StepRule::term_grids(Range range) const {
  const TermGrid counts(36);                                       // makes the upper parts integers
  const int exponent = histogram_exponent(range.low, range.high);  // all magnitudes are below 2^exponent
  switch (method()) {
    case Observing::mse: return TermGrids({TermGrid(static_cast<int>(std::ceil(exponent * power)) + 1)});
    case Observing::power_floor:
    case Observing::power_mode: return TermGrids({TermGrid(2 * exponent + 1)});
    case Observing::clip_std:
    case Observing::widen_std:
    case Observing::lsq:
    case Observing::lsq_plus:
      return TermGrids({counts, TermGrid(exponent), TermGrid(exponent), TermGrid(2 * exponent)});
    default: return TermGrids({counts});
  }
}

int64_t StepRule::statistics() const {
  return merge == Merge::parts ? ExactSum::kDigits * terms() : statistics_of(method());
}

void take_step(const StepRule& rule, Range step, std::span<const double> terms, ObserverState& state) {
  if (!step.seen()) return;
  const Range before = state.range;
  state.range = merged(rule, before, range_taken(rule, step, terms));
  update_statistics(rule, before, step, terms, state.seen);
  state.parameters = observed_parameters(state.range.low, state.range.high, state.seen, rule.parameters);
}

}  // namespace halfstep::arith
