#include "halfstep/verify/equivalence/code_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/verify/equivalence/errors.h"

namespace halfstep::verify {
namespace {

constexpr double kFloat = 0x1p-24;        ///< largest relative error of one float32 operation
constexpr double kDouble = 0x1p-40;       ///< upper bound for the relative error of every checked chain of float64
                                          ///< operations
constexpr int kNormalizedBits = 20;       ///< fraction bits of normalized elements
constexpr double kSumInDouble = 0x1p-22;  ///< error of one addition in float64, times 2^31, the limit of accumulators

bool is_engine(const CodeFormat& y) { return y.requantize == "fbgemm" || y.requantize == "x86"; }
bool is_float32(const CodeFormat& y) { return y.requantize == "float32"; }
bool has_multipliers(const CodeFormat& y) { return !is_engine(y) && !is_float32(y); }

/// Relative error of a multiplier with multiplier_bits bits. Shifts are exact.
double multiplier_error(const CodeFormat& y) { return std::ldexp(1.0, -y.multiplier_bits); }

double zero_point_of(const CodeFormat& y) { return std::fabs(static_cast<double>(y.zero_point)); }
/// Largest magnitude of a code.
double largest_code(const CodeFormat& x) { return static_cast<double>(std::max(x.code_max, -x.code_min)); }

/// Largest magnitude of the represented values, in steps of the scale.
double largest_magnitude(const CodeFormat& x) {
  return static_cast<double>(std::max(x.code_max - x.zero_point, x.zero_point - x.code_min));
}

CodeBound bound_of(double relative, double absolute) { return {.relative = relative, .absolute = {absolute}}; }

/// Additional error of a shift of `y` that does not round once to nearest. `factor`: a step of the accumulator in steps
/// of y.
double twice_rounded(const CodeFormat& y, double factor) {
  return has_multipliers(y) && y.shift_rounding == "doubled" ? factor : 0.0;
}
double middle_of(const CodeFormat& y) { return has_multipliers(y) && y.shift_rounding == "truncate" ? -0.5 : 0.0; }

/// The bound of an operator with one factor, or with the larger of two.
CodeBound shifted(const CodeFormat& y, double relative, double absolute, double factor) {
  return {middle_of(y), relative, {absolute + twice_rounded(y, factor)}};
}

CodeBound weighted(const CodeFormat& x, const CodeFormat& y, const WeightFacts& w) {
  CodeBound bound{middle_of(y), kDouble, {}, w.axis};
  if (bound.middle != 0) bound.relative += 2 * kFloat;  // the limit of a relu6 is rounded
  if (y.requantize == "fixed_point") bound.relative += multiplier_error(y);
  if (is_float32(y)) bound.relative += 6 * kFloat;
  if (is_engine(y)) bound.relative += 12 * kFloat;
  const size_t channels = std::max(w.scales.size(), w.bias.size());
  for (size_t c = 0; c < channels; ++c) {
    const double factor = x.scale * w.scales[w.scales.size() == 1 ? 0 : c] / y.scale;
    const double bias = w.bias.empty() ? 0.0 : std::fabs(w.bias[c]) / y.scale;
    double absolute = static_cast<double>(w.taps + 2) * kSumInDouble * factor + kDouble;
    if (is_engine(y)) {
      absolute += 24 * kFloat * (bias + zero_point_of(y) + 1);
    } else if (bias != 0) {
      absolute += factor / 2 * (1 + bound.relative);
    }
    bound.absolute.push_back((absolute + twice_rounded(y, factor)) * w.slope);
  }
  return bound;
}

CodeBound sum(const std::vector<CodeFormat>& x, const CodeFormat& y) {
  const CodeFormat &a = x.at(0), &b = x.at(1);
  const double larger = std::max(a.scale, b.scale) / y.scale;
  if (has_multipliers(y))
    return shifted(y, kDouble,
                   1.001 * (largest_magnitude(a) + largest_magnitude(b)) * larger * multiplier_error(y) + kDouble,
                   larger);
  const double highest = largest_code(a) * a.scale + largest_code(b) * b.scale;
  return bound_of(8 * kFloat, 8 * kFloat * (highest / y.scale + zero_point_of(y) + 1));
}

/// Bound for one factor in a multiplier, or for a few float32 operations, with the zero point possibly added before
/// rounding.
CodeBound scaled(const CodeFormat& y, double factor) {
  if (has_multipliers(y)) return shifted(y, multiplier_error(y) + kDouble, kDouble, factor);
  return bound_of(12 * kFloat, 4 * kFloat * (zero_point_of(y) + 1));
}

/// Relative error of a target that averages with an integer and a shift.
double average_error(const CodeFormat& y) { return y.average_bits == 0 ? 0.0 : std::ldexp(1.0, -y.average_bits); }

CodeBound mean(Op op, const CodeFormat& x, const CodeFormat& y) {
  if (has_multipliers(y)) {
    CodeBound bound = scaled(y, x.scale / y.scale);
    bound.relative += average_error(y);
    return bound;
  }
  double window = 1;
  for (const int64_t extent : get<std::vector<int64_t>>(op.attributes(), "kernel"))
    window *= static_cast<double>(extent);
  const double largest = largest_magnitude(x) * x.scale / y.scale;
  return bound_of(8 * kFloat, (window + 8) * kFloat * largest + 4 * kFloat * (zero_point_of(y) + 1));
}

/// Bound for a float64 sum of `terms` products or elements, each with at most `largest` steps of the accumulator.
CodeBound added_up(const CodeFormat& y, double factor, int64_t terms, double largest) {
  CodeBound bound = scaled(y, factor);
  const double addition = std::max(2 * kSumInDouble, static_cast<double>(terms) * largest * 0x1p-53);
  bound.absolute[0] += static_cast<double>(terms + 2) * addition * factor;
  return bound;
}

CodeBound mean_over_axes(Op op, const CodeFormat& x, const CodeFormat& y) {
  const int64_t results = count_elements(op.out(0).dims());
  const int64_t count = results == 0 ? 1 : count_elements(op.in(0).dims()) / results;
  CodeBound bound =
      added_up(y, x.scale / y.scale / static_cast<double>(std::max<int64_t>(1, count)), count, largest_magnitude(x));
  bound.relative += average_error(y);
  return bound;
}

/// Each weight along an axis has an error of half a unit, and one of them takes the rest. Units are at least 2^-10.
CodeBound resampled(Op op, const CodeFormat& x, const CodeFormat& y) {
  const ops::IntegerResize resize(op.node());
  constexpr double kUnit = 0x1p-11, kCubic = 1.5;  // weights of the other axes have magnitudes up to kCubic in all
  const size_t axes = std::max<size_t>(1, resize.axes().empty() ? op.in(0).dims().size() : resize.axes().size());
  double width = resize.mode() == "nearest" ? 0 : resize.mode() == "linear" ? 2 : 4;
  if (resize.antialias()) {
    for (size_t axis = 0; axis < op.in(0).dims().size(); ++axis) {
      const double shrink = static_cast<double>(op.in(0).dims()[axis]) / static_cast<double>(op.out(0).dims()[axis]);
      width = std::max(width, std::ceil(4 * shrink) + 2);
    }
  }
  CodeBound bound = scaled(y, x.scale / y.scale);
  const double unit = axes > 2 ? 2 * kUnit : kUnit;
  const double changed = static_cast<double>(std::min<size_t>(axes, 3));
  bound.absolute[0] += kCubic * changed * width * unit * largest_magnitude(x) * x.scale / y.scale;
  return bound;
}

CodeBound running_sum(Op op, const CodeFormat& x, const CodeFormat& y) {
  const ops::IntegerCumsum cumsum(op.node());
  const Dims& dims = op.in(0).dims();
  const int64_t axis = cumsum.axis() < 0 ? cumsum.axis() + std::ssize(dims) : cumsum.axis();
  return added_up(y, x.scale / y.scale, dims[static_cast<size_t>(axis)], largest_magnitude(x));
}

int64_t contracted(Op op) {
  const Dims& a = op.in(0).dims();
  return ops::IntegerMatmul(op.node()).transpose_a() ? a[a.size() - 2] : a.back();
}

CodeBound matrix_product(Op op, const CodeFormat& a, const CodeFormat& b, const CodeFormat& y) {
  return added_up(y, a.scale * b.scale / y.scale, contracted(op), largest_magnitude(a) * largest_magnitude(b));
}

/// Table entries and their product have an error below 3/2 units of 2^-30. The sum has this error for each element, and
/// is at least 2^30 units. The shift of the quotient truncates.
CodeBound softmax(Op op, const CodeFormat& y) {
  const ops::IntegerSoftmax softmax(op.node());
  const Dims& dims = op.in(0).dims();
  const auto axis = static_cast<size_t>(softmax.axis() + (softmax.axis() < 0 ? std::ssize(dims) : 0));
  const auto along = std::span(dims).subspan(axis);
  const auto elements = static_cast<double>(softmax.flattened() ? count_elements(along) : along[0]);
  constexpr double kUnits = 1.5 * 0x1p-30;
  const double dropped = std::ldexp(1.0, -static_cast<int>(softmax.shift()));
  return shifted(y, kUnits * elements + multiplier_error(y) + kDouble, kUnits / y.scale + dropped + kDouble,
                 1 / y.scale);
}

}  // namespace

double CodeBound::at(double steps, size_t channel) const {
  return relative * std::fabs(steps) + absolute[absolute.size() == 1 ? 0 : channel];
}

void CodeBound::add(const CodeBound& other) {
  middle += other.middle;
  relative += other.relative;
  if (other.absolute.size() > absolute.size()) {
    absolute.resize(other.absolute.size(), absolute.front());
    axis = other.axis;
  }
  for (size_t c = 0; c < absolute.size(); ++c) absolute[c] += other.absolute[other.absolute.size() == 1 ? 0 : c];
}

CodeBound code_bound(Op op, const std::vector<CodeFormat>& x, const CodeFormat& y, const WeightFacts* weights) {
  if (weights != nullptr) return weighted(x.at(0), y, *weights);
  if (op.is<ops::IntegerAdd>()) return sum(x, y);
  if (op.is<ops::IntegerMul>()) return scaled(y, x.at(0).scale * x.at(1).scale / y.scale);
  if (op.is<ops::IntegerAvgPool2d>()) return mean(op, x.at(0), y);
  if (op.is<ops::IntegerReduceMean>()) return mean_over_axes(op, x.at(0), y);
  if (op.is<ops::IntegerCumsum>()) return running_sum(op, x.at(0), y);
  if (op.is<ops::IntegerResize>()) return resampled(op, x.at(0), y);
  if (op.is<ops::IntegerMatmul>()) return matrix_product(op, x.at(0), x.at(1), y);
  if (op.is<ops::IntegerSoftmax>()) return softmax(op, y);
  if (op.is<ops::IntegerRescale>()) return scaled(y, x.at(0).scale / y.scale);
  if (op.is<ops::IntegerLookup>()) return bound_of(has_multipliers(y) ? kDouble : 8 * kFloat, kDouble);
  if (op.is<ops::Quantize>()) return bound_of(4 * kFloat, kDouble);
  const Trait trait = op.info().quant.trait;
  if (trait == Trait::preserves_range || trait == Trait::same_scale)
    return bound_of(4 * kFloat, kDouble);  // a pad quantizes its fill value
  fail(errors::semantic_check_incomplete(
      op.where(), fmt::format("bound of how far the codes of {} may lie from its float operator", op.info().name)));
}

CodeBound norm_bound(Op op, const Tensors& tensors) {
  const ops::IntegerNorm norm(op.node());
  const auto shift = static_cast<int>(norm.shift()), guard = static_cast<int>(norm.guard());
  double factor = 0, bias = 0;
  for (const int32_t m : tensors.at(norm.factor().name()).data<int32_t>())
    factor = std::max(factor, std::ldexp(std::fabs(static_cast<double>(m)), kNormalizedBits - shift));
  for (const int64_t b : tensors.at(norm.bias().name()).data<int64_t>())
    bias = std::max(bias, std::ldexp(std::fabs(static_cast<double>(b)), -shift));
  const auto elements = static_cast<double>(op.in(0).dims().back());
  const double largest = std::sqrt(elements);  // of a normalized element
  // The root has a relative error of 2^-30. epsilon has an error of half a unit, relative to a spread of at least
  // elements - 1.
  const double relative = 0x1p-29 + std::ldexp(0.25, -guard) / std::max(1.0, elements - 1) + kDouble;
  const double rounding = factor * std::ldexp(0.5, -kNormalizedBits) +
                          largest * std::ldexp(0.5, kNormalizedBits - shift) + std::ldexp(0.5, -shift);
  CodeBound bound = bound_of(relative, relative * bias + rounding + kDouble);
  if (norm.shift_rounding() == "truncate") bound.middle = -0.5;
  if (norm.shift_rounding() == "doubled") bound.absolute[0] += std::ldexp(1.0, 30 - shift);
  return bound;
}

}  // namespace halfstep::verify
