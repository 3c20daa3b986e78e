// The requantizers of an average pool's windows, from the integers or scales that a program stores.
#pragma once

#include <fmt/format.h>

#include <map>

#include "halfstep/engine/kernels/codes/average_window.h"
#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels {

/// Requantizers by the divisor of a window.
using AverageSteps = std::map<int64_t, arith::Requantizer>;

/// The requantizers for these divisors. Divisors without a multiplier in the program are omitted.
inline AverageSteps average_steps(const IntegerAvgPool2d& a, const std::set<int64_t>& divisors) {
  AverageSteps steps;
  const auto store = [&](int64_t divisor, int64_t multiplier, int64_t shift) {
    if (divisors.contains(divisor)) steps[divisor] = stored_scale(multiplier, shift, shift_rounding(a));
  };
  if (arith::traits(form_of(a)).keeps_scales) {
    for (const int64_t divisor : divisors)
      steps[divisor] =
          arith::float_pool(form_of(a), float_of(a.x_scale), float_of(a.y_scale), static_cast<float>(divisor));
    return steps;
  }
  for (size_t i = 0; i < a.edge_counts.size(); ++i) store(a.edge_counts[i], a.edge_multipliers[i], a.edge_shifts[i]);
  store(a.kernel[0] * a.kernel[1], a.multiplier, a.shift);
  return steps;
}

/// Refuses windows for which the program has no multiplier.
inline Verdict accept_windows(const IntegerAvgPool2d& a, const AverageWindow& window) {
  const auto divisors = window.divisors();
  const AverageSteps steps = average_steps(a, divisors);
  for (const int64_t divisor : divisors) {
    if (!steps.contains(divisor))
      return refuse(errors::attribute_does_not_fit("edge_counts", to_string(Attribute(a.edge_counts)),
                                                   fmt::format("{} too, the number of elements of a window", divisor)));
  }
  return accept();
}

inline AverageWindow window_of(const IntegerAvgPool2d& a, const Problem& problem) {
  return AverageWindow::of(a, problem.in[IntegerAvgPool2d::in::x]->dims, problem.out[0]->dims);
}

}  // namespace halfstep::kernels
