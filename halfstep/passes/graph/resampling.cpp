#include "halfstep/passes/graph/resampling.h"

#include <cmath>
#include <set>

#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

/// Weights of an element of a resize. The magnitudes of cubic weights along an axis add up to less than 3 times their
/// sum, for any coefficient from -1 to 0.
std::optional<AverageWeights> resize_weights(Op op) {
  const auto axes = resampled_axes(op);
  if (!axes) return std::nullopt;
  const int64_t sum = int64_t{1} << (arith::weight_bits(axes->size()) * static_cast<int>(axes->size()));
  const bool is_cubic = get<std::string>(op.attributes(), "mode") == "cubic";
  return AverageWeights{sum, is_cubic ? sum * static_cast<int64_t>(std::pow(3, axes->size())) : sum};
}

std::optional<int64_t> elements_along(const Dims& dims, const std::vector<int64_t>& axes) {
  const auto rank = std::ssize(dims);
  std::set<int64_t> along;
  for (const int64_t axis : axes) along.insert(axis < 0 ? axis + rank : axis);
  int64_t count = 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!along.empty() && !along.contains(axis)) continue;
    const int64_t extent = dims[static_cast<size_t>(axis)];
    if (extent == kUnknown) return std::nullopt;
    count *= extent;
  }
  return count;
}

}  // namespace

arith::Resampling resampling_of(Op op) {
  const Attributes& all = op.attributes();
  const auto text = [&](const char* name) { return get<std::string>(all, name); };
  const auto floats = [&](const char* name) { return get<std::vector<double>>(all, name); };
  const auto integers = [&](const char* name) { return get<std::vector<int64_t>>(all, name); };
  return {integers("sizes"),
          floats("scales"),
          integers("axes"),
          floats("roi"),
          text("policy"),
          text("mode"),
          text("nearest_mode"),
          text("coordinates"),
          get<double>(all, "cubic_coeff_a"),
          get<bool>(all, "exclude_outside"),
          get<bool>(all, "antialias")};
}

std::optional<std::vector<arith::ResampledAxis>> resampled_axes(Op op) {
  const Dims &x = op.in(0).dims(), &out = op.out(0).dims();
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const bool is_batch = axis == 0 && x[axis] == kUnknown && out[axis] == kUnknown;
    if (!is_batch && (x[axis] == kUnknown || out[axis] == kUnknown)) return std::nullopt;
  }
  return arith::resampled_axes(resampling_of(op), x, out);
}

std::optional<AverageWeights> average_weights(Op op) {
  if (op.info().quant.accumulates == Accumulation::taps || op.is<ops::IntegerResize>()) return resize_weights(op);
  if (op.info().quant.accumulates != Accumulation::axes && !op.is<ops::IntegerReduceMean>()) return std::nullopt;
  const auto count = elements_along(op.in(0).dims(), get<std::vector<int64_t>>(op.attributes(), "axes"));
  return count ? std::optional(AverageWeights{*count, *count}) : std::nullopt;
}

}  // namespace halfstep::passes
