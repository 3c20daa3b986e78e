#include "halfstep/kernels/quantizers/native/observe.h"

#include <cmath>

#include "halfstep/arith/code.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

using arith::Observing;

constexpr int kMoments = 4;  ///< count, sum of magnitudes, of values, of squares

Merge parse_merge(std::string_view text) {
  return text == "widest" ? Merge::widest : text == "last" ? Merge::last : Merge::moving;
}

/// Of numbers, the index of the smallest, the first of equal ones; 0 where they are NaN.
int least_of(const double* errors, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return best;
}

/// term(x, lane) for every element but NaN.
template <class Term>
void for_each_element(const Blocks& blocks, int64_t block, const float* x, Term&& term) {
  blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
    for (int64_t i = 0; i < size; ++i) {
      if (!std::isnan(x[begin + i])) term(finite_value(x[begin + i]), i % kSumLanes);
    }
  });
}

void add_up(const std::vector<SumLanes>& lanes, double* terms) {
  for (size_t i = 0; i < lanes.size(); ++i) terms[i] = sum_of_lanes(lanes[i]);
}

void add_errors(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
                double* terms) {
  std::vector<SumLanes> lanes(static_cast<size_t>(observer.terms()));
  std::vector<arith::AffineParameters> parameters;
  for (int i = 0; i < observer.candidates(); ++i) {
    const Range candidate = observer.candidate(range, i);
    parameters.push_back(arith::parameters_of(candidate.low, candidate.high, observer.rule.grid));
  }
  for_each_element(blocks, block, x, [&](float element, int64_t lane) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      const double error = squared_error(element, parameters[i], observer.rule.grid);
      lanes[i][static_cast<size_t>(lane)] += observer.power == 2.0 ? error : std::pow(std::sqrt(error), observer.power);
    }
  });
  add_up(lanes, terms);
}

/// Half to even; with `halves_up`, halves below zero go up.
double rounded(double steps, bool halves_up) {
  return halves_up && steps < 0 && steps - std::floor(steps) == 0.5 ? std::ceil(steps) : std::nearbyint(steps);
}

void add_errors_of_powers(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
                          double* terms) {
  std::vector<SumLanes> lanes(static_cast<size_t>(observer.terms()));
  for_each_element(blocks, block, x, [&](float element, int64_t lane) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      const double step = std::ldexp(1.0, -observer.exponent(range, static_cast<int>(i)));
      const double code = std::clamp<double>(rounded(element / step, observer.halves_up), observer.rule.grid.code_min,
                                             observer.rule.grid.code_max);
      const double error = code * step - static_cast<double>(element);
      lanes[i][static_cast<size_t>(lane)] += error * error;
    }
  });
  add_up(lanes, terms);
}

void add_moments(const Blocks& blocks, int64_t block, const float* x, double* terms) {
  std::vector<SumLanes> lanes(kMoments);
  for_each_element(blocks, block, x, [&](float element, int64_t lane) {
    const auto value = static_cast<double>(element);
    const double numbers[kMoments] = {1.0, std::abs(value), value, value * value};
    for (size_t i = 0; i < kMoments; ++i) lanes[i][static_cast<size_t>(lane)] += numbers[i];
  });
  add_up(lanes, terms);
}

/// Counts are whole, so that their order does not matter.
template <class Bin>
void count_bins(const Blocks& blocks, int64_t block, const float* x, int64_t bins, double* terms, Bin&& bin_of) {
  std::fill_n(terms, bins, 0.0);
  blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
    for (int64_t i = begin; i < begin + size; ++i) {
      if (!std::isnan(x[i])) terms[std::clamp<int64_t>(bin_of(finite_value(x[i])), 0, bins - 1)] += 1.0;
    }
  });
}

float largest_magnitude(Range range) { return std::max(-range.low, range.high); }

/// The middle of the first bin below whose end the share of all magnitudes lies; the largest where none is.
double clip_of(const Observer& observer, Range batch, const double* counts) {
  double all = 0.0, passed = 0.0;
  for (int64_t bin = 0; bin < observer.bins; ++bin) all += counts[bin];
  const auto largest = static_cast<double>(largest_magnitude(batch));
  for (int64_t bin = 0; bin < observer.bins; ++bin) {
    passed += counts[bin];
    if (passed >= observer.rule.share * all)
      return (static_cast<double>(bin) + 0.5) * (largest / static_cast<double>(observer.bins));
  }
  return largest;
}

struct Moments {
  double magnitude = 0.0, mean = 0.0, deviation = 0.0;
};

Moments moments_of(const double* terms) {
  const double n = terms[0];
  const double variance = n > 1 ? std::max(0.0, (terms[3] - terms[2] * terms[2] / n) / (n - 1)) : 0.0;
  return {terms[1] / n, terms[2] / n, std::sqrt(variance)};
}

/// What a batch is taken for.
Range range_taken(const Observer& observer, Range batch, const double* terms) {
  switch (observer.method()) {
    case Observing::mse: return observer.candidate(batch, least_of(terms, observer.candidates()));
    case Observing::quantile: {
      const double clip = clip_of(observer, batch, terms);
      return {static_cast<float>(std::max<double>(batch.low, -clip)),
              static_cast<float>(std::min<double>(batch.high, clip))};
    }
    case Observing::clip_std:
    case Observing::widen_std: {
      const Moments moments = moments_of(terms);
      const Range around{static_cast<float>(moments.mean - observer.deviations * moments.deviation),
                         static_cast<float>(moments.mean + observer.deviations * moments.deviation)};
      if (observer.method() == Observing::widen_std) return around.with(batch);
      return {std::clamp(around.low, batch.low, batch.high), std::clamp(around.high, batch.low, batch.high)};
    }
    default: return batch;
  }
}

Range merged(const Observer& observer, Range before, Range batch) {
  if (!before.seen() || observer.merge == Merge::last) return batch;
  if (observer.merge == Merge::widest) return before.with(batch);
  const auto moved = [&](float from, float to) {
    return static_cast<float>((1.0 - observer.rate) * from + observer.rate * to);
  };
  return {moved(before.low, batch.low), moved(before.high, batch.high)};
}

/// What is kept of the batch besides its range.
void update_statistics(const Observer& observer, Range before, Range batch, const double* terms,
                       std::span<double> seen) {
  switch (observer.method()) {
    case Observing::lsq: seen[0] = moments_of(terms).magnitude; break;
    case Observing::lsq_plus:
      seen[0] = moments_of(terms).mean;
      seen[1] = moments_of(terms).deviation;
      break;
    case Observing::power_floor: std::ranges::fill(seen, 0.0); [[fallthrough]];
    case Observing::power_mode: {
      constexpr int kMost = 12;  // of a fraction's bits
      const int exponent = std::min(kMost, observer.exponent(batch, least_of(terms, observer.candidates())));
      seen[static_cast<size_t>(exponent - arith::kLowestExponent)] += 1.0;
      break;
    }
    default:
      if (seen.empty()) break;
      const Range all = before.with(batch);
      const auto exponent = [](Range range) { return arith::histogram_exponent(range.low, range.high); };
      if (before.seen()) arith::widen_histogram(seen, exponent(before), exponent(all));
      for (size_t bin = 0; bin < seen.size(); ++bin) seen[bin] += terms[bin];
  }
}

}  // namespace

Observer::Observer(const Problem& problem) {
  const ObserveRange attributes(problem.attributes);
  const auto zero_points = arith::parse_zero_points(attributes.zero_points);
  const auto method = arith::parse_observing(attributes.method);
  HS_CHECK(zero_points.has_value() && method.has_value());
  is_test = attributes.is_test;
  rule = {*method,
          {static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max), *zero_points,
           attributes.power_of_two, attributes.nearest_power},
          attributes.share};
  merge = keeps_histogram() ? Merge::widest : parse_merge(attributes.merge);
  rate = attributes.rate;
  power = attributes.power;
  deviations = attributes.deviations;
  bins = attributes.bins;
  steps = attributes.steps;
  halves_up = attributes.halves == "up";
  candidates_ = static_cast<int>(attributes.candidates);
  channels = count_elements(problem.in[ObserveRange::in::low]->dims);
  for (const Type* x : problem.in.subspan(ObserveRange::in::x))
    operands.emplace_back(Channels::of(x->dims, attributes.axis));
}

int64_t Observer::blocks() const {
  int64_t count = 0;
  for (const Blocks& operand : operands) count += operand.count();
  return count;
}

Range Observer::candidate(Range batch, int index) const {
  const double factor = halving() ? std::ldexp(1.0, -index) : 1.0 - index / static_cast<double>(steps);
  return {static_cast<float>(batch.low * factor), static_cast<float>(batch.high * factor)};
}

int Observer::exponent(Range batch, int index) const {
  const auto code_min = static_cast<double>(rule.grid.code_min), code_max = static_cast<double>(rule.grid.code_max);
  const double below = code_min < 0 ? batch.low / code_min : 0.0;
  const double scale = std::max(below, batch.high / code_max);
  constexpr double kNothing = 0x1p-15;  // a scale below it counts as 1
  const double first = scale < kNothing ? 0.0 : std::floor(std::log2(1.0 / scale));
  return std::clamp(static_cast<int>(first) + index, arith::kLowestExponent,
                    arith::kLowestExponent + arith::kExponents - 1);
}

int64_t Observer::terms() const {
  switch (rule.method) {
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
    case Observing::histogram: return arith::kHistogramBins;
  }
  return 0;
}

double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid) {
  const arith::CodeRule rule{grid.code_min, grid.code_max};
  const int32_t code = arith::code_of(x, parameters.scale, parameters.zero_point, rule);
  const double error = static_cast<double>(x) - arith::real_of(code, parameters.scale, parameters.zero_point);
  return error * error;
}

void add_terms(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
               double* terms) {
  if (observer.searches_range()) return add_errors(observer, range, blocks, block, x, terms);
  if (observer.searches_power()) return add_errors_of_powers(observer, range, blocks, block, x, terms);
  if (observer.method() == Observing::quantile) {
    const float largest = largest_magnitude(range);
    return count_bins(blocks, block, x, observer.bins, terms, [&](float element) {
      return largest > 0 ? static_cast<int64_t>(std::abs(element) / largest * static_cast<float>(observer.bins)) : 0;
    });
  }
  if (observer.keeps_histogram()) {
    const double per_one = std::ldexp(arith::kHistogramBins / 2.0, -arith::histogram_exponent(range.low, range.high));
    return count_bins(blocks, block, x, arith::kHistogramBins, terms, [&](float element) {
      return static_cast<int64_t>(std::floor(element * per_one)) + arith::kHistogramBins / 2;
    });
  }
  add_moments(blocks, block, x, terms);
}

Verdict accept_observer(const Problem& problem) {
  const ObserveRange attributes(problem.attributes);
  const auto method = arith::parse_observing(attributes.method);
  if (attributes.statistics != arith::statistics_of(*method))
    return refuse("{} keeps {} numbers a channel, found {}", attributes.method, arith::statistics_of(*method),
                  attributes.statistics);
  if (attributes.reach != 0) return refuse("it sees everything, found reach {}", attributes.reach);
  if (attributes.axis < 0) return accept();
  const int64_t channels = count_elements(problem.in[ObserveRange::in::low]->dims);
  for (const Type* x : problem.in.subspan(ObserveRange::in::x)) {
    const bool has_axis = attributes.axis < static_cast<int64_t>(x->dims.size());
    if (!has_axis || x->dims[attributes.axis] != channels)
      return refuse("an operand {} has not the {} channels of the state on axis {}", to_string(*x), channels,
                    attributes.axis);
  }
  return accept();
}

Range range_before(const Call& call, int64_t channel) {
  return {call.in[ObserveRange::in::low].as<const float>()[channel],
          call.in[ObserveRange::in::high].as<const float>()[channel]};
}

void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch, const double* terms) {
  using In = ObserveRange::in;
  using Out = ObserveRange::out;
  const Range before = range_before(call, channel);
  Range range = before;
  arith::AffineParameters parameters{call.in[In::scale].as<const float>()[channel],
                                     call.in[In::zero_point].as<const int32_t>()[channel]};
  const auto kept = static_cast<size_t>(arith::statistics_of(observer.method()));
  std::span<double> seen;
  if (kept > 0) {
    seen = {call.out[Out::seen_out].as<double>() + static_cast<size_t>(channel) * kept, kept};
    std::copy_n(call.in[In::seen].as<const double>() + static_cast<size_t>(channel) * kept, kept, seen.begin());
  }
  if (batch.seen()) {
    range = merged(observer, before, range_taken(observer, batch, terms));
    update_statistics(observer, before, batch, terms, seen);
    parameters = arith::observed_parameters(range.low, range.high, seen, observer.rule);
  }
  call.out[Out::low_out].as<float>()[channel] = range.low;
  call.out[Out::high_out].as<float>()[channel] = range.high;
  call.out[Out::scale_out].as<float>()[channel] = parameters.scale;
  call.out[Out::zero_point_out].as<int32_t>()[channel] = parameters.zero_point;
}

}  // namespace halfstep::kernels
