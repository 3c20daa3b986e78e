#include "halfstep/engine/kernels/quantizers/native/observe.h"

#include <fmt/format.h>

#include <cmath>

#include "halfstep/core/arith/code.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

using arith::Observing;
using arith::TermGrid;
using arith::TermParts;

/// Calls term(x) for every finite element.
template <class Term>
void for_each_element(const Blocks& blocks, int64_t block, const float* x, Term&& term) {
  blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
    for (int64_t i = begin; i < begin + size; ++i) {
      if (std::isfinite(x[i])) term(x[i]);
    }
  });
}

void add_errors(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
                TermParts* terms) {
  const arith::StepRule& rule = observer.rule;
  const TermGrid grid = rule.term_grids(range)[0];
  std::vector<arith::AffineParameters> parameters;
  for (int i = 0; i < rule.candidates(); ++i) {
    const Range candidate = rule.candidate(range, i);
    parameters.push_back(arith::parameters_of(candidate.low, candidate.high, rule.grid()));
  }
  for_each_element(blocks, block, x, [&](float element) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const double error = squared_error(element, parameters[i], rule.grid());
      terms[i].add(rule.power == 2.0 ? error : std::pow(std::sqrt(error), rule.power), grid);
    }
  });
}

/// Rounds half to even. With `halves_up`, halves below zero round up.
double rounded(double steps, bool halves_up) {
  return halves_up && steps < 0 && steps - std::floor(steps) == 0.5 ? std::ceil(steps) : std::nearbyint(steps);
}

void add_errors_of_powers(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
                          TermParts* terms) {
  const arith::StepRule& rule = observer.rule;
  const TermGrid grid = rule.term_grids(range)[0];
  for_each_element(blocks, block, x, [&](float element) {
    for (int i = 0; i < rule.candidates(); ++i) {
      const double step = std::ldexp(1.0, -rule.exponent(range, i));
      const double code =
          std::clamp<double>(rounded(element / step, rule.halves_up), rule.grid().code_min, rule.grid().code_max);
      const double error = code * step - static_cast<double>(element);
      terms[i].add(error * error, grid);
    }
  });
}

void add_moments(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
                 TermParts* terms) {
  const arith::TermGrids grids = observer.rule.term_grids(range);
  for_each_element(blocks, block, x, [&](float element) {
    const auto value = static_cast<double>(element);
    const double numbers[arith::kMoments] = {1.0, std::abs(value), value, value * value};
    for (int i = 0; i < arith::kMoments; ++i) terms[i].add(numbers[i], grids[i]);
  });
}

/// Counts are added to the upper parts. See StepRule::term_grids.
template <class Bin>
void count_bins(const Blocks& blocks, int64_t block, const float* x, int64_t bins, TermParts* terms, Bin&& bin_of) {
  for_each_element(blocks, block, x,
                   [&](float element) { terms[std::clamp<int64_t>(bin_of(element), 0, bins - 1)].upper += 1.0; });
}

}  // namespace

Observer::Observer(const Problem& problem)
    : rule(problem.attributes), channels(count_elements(problem.in[ObserveRange::in::low]->dims)) {
  const ObserveRange attributes(problem.attributes);
  is_test = attributes.is_test;
  for (const Type* x : problem.in.subspan(ObserveRange::in::x))
    operands.emplace_back(Channels::of(x->dims, attributes.axis));
}

double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid) {
  const arith::CodeRule rule{grid.code_min, grid.code_max};
  const int32_t code = arith::code_of(x, parameters.scale, parameters.zero_point, rule);
  const double error = static_cast<double>(x) - arith::real_of(code, parameters.scale, parameters.zero_point);
  return error * error;
}

void add_terms(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
               TermParts* terms) {
  const arith::StepRule& rule = observer.rule;
  std::fill_n(terms, rule.terms(), TermParts());
  if (rule.searches_range()) return add_errors(observer, range, blocks, block, x, terms);
  if (rule.searches_power()) return add_errors_of_powers(observer, range, blocks, block, x, terms);
  if (rule.method() == Observing::quantile) {
    const float largest = std::max(-range.low, range.high);
    return count_bins(blocks, block, x, rule.bins, terms, [&](float element) {
      return largest > 0 ? static_cast<int64_t>(std::abs(element) / largest * static_cast<float>(rule.bins)) : 0;
    });
  }
  if (rule.keeps_histogram()) {
    const double per_one = std::ldexp(arith::kHistogramBins / 2.0, -arith::histogram_exponent(range.low, range.high));
    return count_bins(blocks, block, x, arith::kHistogramBins, terms, [&](float element) {
      return static_cast<int64_t>(std::floor(element * per_one)) + arith::kHistogramBins / 2;
    });
  }
  add_moments(observer, range, blocks, block, x, terms);
}

Verdict accept_observer(const Problem& problem) {
  const ObserveRange attributes(problem.attributes);
  const int64_t statistics = arith::StepRule(problem.attributes).statistics();
  if (attributes.statistics != statistics)
    return refuse(
        errors::attribute_does_not_fit("statistics", attributes.statistics,
                                       fmt::format("{} values per channel for {}", statistics, attributes.method)));
  if (attributes.reach != 0) return refuse(errors::attribute_does_not_fit("reach", attributes.reach, "0"));
  if (attributes.axis < 0) return accept();
  const int64_t channels = count_elements(problem.in[ObserveRange::in::low]->dims);
  for (const Type* x : problem.in.subspan(ObserveRange::in::x)) {
    const bool has_axis = attributes.axis < static_cast<int64_t>(x->dims.size());
    if (!has_axis || x->dims[attributes.axis] != channels)
      return refuse(errors::operand_extents_do_not_fit(
          "an operand", to_string(*x),
          fmt::format("the {} channels of the state on axis {}", channels, attributes.axis)));
  }
  return accept();
}

Range range_before(const Call& call, int64_t channel) {
  return {call.in[ObserveRange::in::low].as<const float>()[channel],
          call.in[ObserveRange::in::high].as<const float>()[channel]};
}

namespace {

/// Adds the sums of a part to the sums of the earlier parts.
void add_part(std::span<double> seen, const std::vector<arith::ExactSum>& sums) {
  constexpr auto kDigits = static_cast<size_t>(arith::ExactSum::kDigits);
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto digits = seen.subspan(i * kDigits, kDigits);
    arith::ExactSum sum(digits);
    sum.add(sums[i]);
    sum.store(digits);
  }
}

void take_batch(const Observer& observer, Range batch, const std::vector<arith::ExactSum>& sums,
                arith::ObserverState& state) {
  const arith::TermGrids grids = observer.rule.term_grids(observer.rule.range_of_terms(state.range, batch));
  std::vector<double> terms;
  for (size_t i = 0; i < sums.size(); ++i) terms.push_back(sums[i].value(grids[static_cast<int64_t>(i)]));
  arith::take_step(observer.rule, batch, terms, state);
}

}  // namespace

void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch,
                    const std::vector<arith::ExactSum>& sums) {
  using In = ObserveRange::in;
  using Out = ObserveRange::out;
  arith::ObserverState state{
      range_before(call, channel),
      {},
      {call.in[In::scale].as<const float>()[channel], call.in[In::zero_point].as<const int32_t>()[channel]}};
  const auto kept = static_cast<size_t>(observer.rule.statistics());
  if (kept > 0) {
    state.seen = {call.out[Out::seen_out].as<double>() + static_cast<size_t>(channel) * kept, kept};
    std::copy_n(call.in[In::seen].as<const double>() + static_cast<size_t>(channel) * kept, kept, state.seen.begin());
  }
  if (observer.sees_parts())
    add_part(state.seen, sums);
  else if (batch.seen())
    take_batch(observer, batch, sums, state);
  call.out[Out::low_out].as<float>()[channel] = state.range.low;
  call.out[Out::high_out].as<float>()[channel] = state.range.high;
  call.out[Out::scale_out].as<float>()[channel] = state.parameters.scale;
  call.out[Out::zero_point_out].as<int32_t>()[channel] = state.parameters.zero_point;
}

}  // namespace halfstep::kernels
