// The steps of an average pool's windows, with the integers or scales that a program stores.
#pragma once

#include <map>
#include <optional>

#include "halfstep/kernels/average_window.h"
#include "halfstep/kernels/integer/step.h"

namespace halfstep::kernels {

/// Steps by what a window divides by.
using AverageSteps = std::map<int64_t, arith::Scaling>;

/// Nothing where the program has none.
template <class Pool>
std::optional<arith::Multiplier> stored_multiplier(const Pool& a, int64_t divisor) {
  const auto entry = [](int64_t multiplier, int64_t shift) {
    return arith::Multiplier{static_cast<int32_t>(multiplier), static_cast<int32_t>(shift)};
  };
  if (divisor == a.kernel[0] * a.kernel[1]) return entry(a.multiplier, a.shift);
  const auto found = std::find(a.edge_counts.begin(), a.edge_counts.end(), divisor);
  if (found == a.edge_counts.end()) return std::nullopt;
  const auto i = static_cast<size_t>(found - a.edge_counts.begin());
  return entry(a.edge_multipliers[i], a.edge_shifts[i]);
}

/// The steps of windows with those divisors; a divisor that the program has no multiplier for is left out.
template <class Pool>
AverageSteps average_steps(const Pool& a, const std::set<int64_t>& divisors) {
  const auto form = form_of(a);
  AverageSteps steps;
  for (const int64_t divisor : divisors) {
    const float x_scale = float_of(a.x_scale), y_scale = float_of(a.y_scale), count = static_cast<float>(divisor);
    if (arith::is_engine(form)) {
      steps[divisor] = arith::Scaling::of(form, arith::engine_pool_step(x_scale, y_scale, count));
    } else if (form == arith::Requantization::float32) {
      steps[divisor] = {form, {}, {}, arith::float_pool_factor(x_scale, y_scale, count), {}};
    } else if (const auto factor = stored_multiplier(a, divisor)) {
      steps[divisor] = {form, *factor, *factor, 0.0F, {}};
    }
  }
  return steps;
}

/// Refuses windows that the program has no multiplier for. `height` and `width` of x, `oh` and `ow` of the result.
template <class Pool>
Verdict accept_windows(const Pool& a, int64_t height, int64_t width, int64_t oh, int64_t ow) {
  const auto divisors = window_divisors(a, height, width, oh, ow);
  const AverageSteps steps = average_steps(a, divisors);
  for (const int64_t divisor : divisors) {
    if (!steps.contains(divisor))
      return refuse("a window holds {} elements of x, and edge_counts has no such number", divisor);
  }
  return accept();
}

}  // namespace halfstep::kernels
