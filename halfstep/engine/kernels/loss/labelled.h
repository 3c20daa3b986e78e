// Class losses of ONNX, and the parts that they share with their gradients.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

struct LossState {
  Axis axis;  ///< axis of the classes
  std::string reduction;
  int64_t ignored;
  double smoothing = 0;
};

/// Scratch: two doubles for each target.
template <class Typed>
Plan prepare_labelled(const Problem& problem) {
  const Typed a(problem.attributes);
  const Axis axis(problem.in[0]->dims, 1);
  const auto scratch = static_cast<size_t>(2 * axis.lines()) * sizeof(double);
  LossState state{axis, a.reduction, a.ignore_index};
  if constexpr (requires { a.smoothing; }) state.smoothing = a.smoothing;
  return {.state = std::make_shared<LossState>(std::move(state)), .scratch = scratch};
}

/// Calls visit(line, target, weight) for each target that is not ignored. A target that is not a class is an error.
template <class Index, class T, class Visit>
Status for_each_target(const LossState& s, const Index* targets, const T* weights, const Visit& visit) {
  for (int64_t line = 0; line < s.axis.lines(); ++line) {
    const auto target = static_cast<int64_t>(targets[line]);
    if (target == s.ignored) continue;
    if (target < 0 || target >= s.axis.extent)
      return Status(errors::operand_index_out_of_range(fmt::format("target {}", line), target,
                                                       fmt::format("0 to {}", s.axis.extent - 1)));
    visit(line, target, weights == nullptr ? 1 : to_double(weights[target]));
  }
  return {};
}

/// Logarithm of the sum of exponentials of a line.
template <class T>
double partition_of(const Axis& axis, const T* x, int64_t line) {
  const T* src = x + axis.begin(line);
  double largest = to_double(src[0]), sum = 0;
  for (int64_t i = 1; i < axis.extent; ++i) largest = std::max(largest, to_double(src[i * axis.inner]));
  for (int64_t i = 0; i < axis.extent; ++i) sum += std::exp(to_double(src[i * axis.inner]) - largest);
  return largest + std::log(sum);
}

/// The weight of each class in a smoothed target.
template <class T>
double smoothed_share(const LossState& s, const T* weights, int64_t at) {
  return s.smoothing / static_cast<double>(s.axis.extent) * (weights == nullptr ? 1 : to_double(weights[at]));
}

}  // namespace halfstep::kernels
