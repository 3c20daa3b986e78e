#include "halfstep/quant/prepare/accumulators.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/arith/multiplier.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/resampling.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

constexpr const char* kOpen = "the number of elements in its windows depends on dynamic dimensions";

bool is_average(Op op) { return op.info().quant.accumulates == Accumulation::window; }

/// The element counts that the windows of an axis have.
std::set<int64_t> elements_of_windows(int64_t extent, int64_t windows, int64_t kernel, int64_t stride, int64_t before) {
  std::set<int64_t> elements;
  for (int64_t at = 0; at < windows; ++at) {
    const int64_t begin = at * stride - before;
    elements.insert(std::min(extent, begin + kernel) - std::max<int64_t>(begin, 0));
  }
  return elements;
}

std::set<int64_t> products(const std::set<int64_t>& rows, const std::set<int64_t>& columns) {
  std::set<int64_t> all;
  for (const int64_t row : rows) {
    for (const int64_t column : columns) all.insert(row * column);
  }
  return all;
}

bool is_power_of_two(int64_t count) { return std::has_single_bit(static_cast<uint64_t>(count)); }

/// Products summed for one element of a contraction. kUnknown if the extent is dynamic: the kernel then checks it. 1
/// for other operators.
int64_t contracted_elements(Op op) {
  if (op.info().quant.accumulates != Accumulation::contraction) return 1;
  const Dims& a = op.in(0).dims();
  return ops::Matmul(op.node()).transpose_a() ? a[a.size() - 2] : a.back();
}

/// Largest |code - zero point| that the storage type of the codes allows. A product of two activations only knows the
/// type.
int64_t farthest_stored(int64_t farthest) { return farthest > 255 ? 65535 : 255; }

/// Elements summed for the last element along an axis. kUnknown if the extent is dynamic. 1 for other operators.
int64_t running_elements(Op op) {
  if (op.info().quant.accumulates != Accumulation::running) return 1;
  const Dims& dims = op.in(0).dims();
  const int64_t axis = ops::Cumsum(op.node()).axis();
  return dims[static_cast<size_t>(axis < 0 ? axis + std::ssize(dims) : axis)];
}

AccumulatorProof average_proof(const WindowCounts& counts, arith::Requantization form, int64_t farthest) {
  // In float32 a window that is not all of x adds real values, so that only its codes must be exact.
  if (arith::traits(form).adds_floats && !counts.covers_x) return {{}, farthest, arith::kMostInFloat32};
  return {{}, counts.most * farthest, arith::most_accumulated(form)};
}

/// Multipliers are below 2^31, and half of the largest shift is 2^61. Forms that keep scales add real values.
AccumulatorProof sum_proof(arith::Requantization form, std::span<const int64_t> farthest) {
  if (arith::traits(form).keeps_scales) return {{}, std::max(farthest[0], farthest[1]), arith::kMostInFloat32};
  constexpr int64_t kMultiplier = (int64_t{1} << 31) - 1;
  constexpr int64_t kLargestHalf = int64_t{1} << (arith::kMaxShift - 1);
  return {{}, (farthest[0] + farthest[1]) * kMultiplier, std::numeric_limits<int64_t>::max() - kLargestHalf};
}

}  // namespace

std::optional<WindowCounts> window_counts(Op op) {
  if (!is_average(op)) return std::nullopt;
  const int64_t height = op.in(0).dims()[2], width = op.in(0).dims()[3];
  const bool is_open = height == kUnknown || width == kUnknown;
  if (op.is<ops::GlobalAvgPool>()) {
    if (is_open) return std::nullopt;
    return WindowCounts{height * width, {}, height * width, true};
  }
  const ops::AvgPool2d pool(op.node());
  const auto &kernel = pool.kernel(), &stride = pool.stride(), &pad = pool.pad();
  const int64_t whole = kernel[0] * kernel[1];
  const bool is_padded = *std::ranges::max_element(pad) > 0;
  if (is_open) {
    if (is_padded && !pool.count_include_pad()) return std::nullopt;
    return WindowCounts{whole, {}, whole, !is_padded};
  }
  const auto all = products(elements_of_windows(height, op.out(0).dims()[2], kernel[0], stride[0], pad[0]),
                            elements_of_windows(width, op.out(0).dims()[3], kernel[1], stride[1], pad[1]));
  WindowCounts counts{whole, {}, *all.rbegin(), kernel == Dims{height, width} && !is_padded};
  if (pool.count_include_pad()) return counts;
  std::ranges::copy_if(all, std::back_inserter(counts.cut), [&](int64_t count) { return count != whole; });
  return counts;
}

std::string obstacle_on_codes(Op op, arith::Requantization form, int average_bits) {
  const QuantInfo& quant = op.info().quant;
  const arith::RequantizationTraits& traits = arith::traits(form);
  const bool needs_powers = traits.powers_of_two && average_bits == 0;
  if (quant.trait == Trait::normalizes || quant.accumulates == Accumulation::axes ||
      quant.accumulates == Accumulation::contraction || quant.accumulates == Accumulation::taps ||
      quant.accumulates == Accumulation::running) {
    if (traits.keeps_scales)
      return fmt::format("{} has no integer implementation with {} requantization", op.info().name, traits.name);
  }
  if (running_elements(op) == kUnknown) return "the number of elements in its sums depends on dynamic dimensions";
  if (quant.accumulates == Accumulation::taps) {
    if (get<std::string>(op.attributes(), "coordinates") == "tf_crop_and_resize") return "it extrapolates";
    const double cubic = std::fabs(get<double>(op.attributes(), "cubic_coeff_a"));
    return cubic <= 1 ? "" : fmt::format("its cubic coefficient is {}, expected -1 to 1", cubic);
  }
  if (quant.accumulates == Accumulation::axes) {
    const auto weights = passes::average_weights(op);
    if (!weights) return needs_powers ? kOpenMean : "";
    if (weights->sum == 0) return "its mean has no elements";
    if (needs_powers && !is_power_of_two(weights->sum))
      return fmt::format("its mean has {} elements, expected a power of two", weights->sum);
    return {};
  }
  if (!is_average(op)) return {};
  const auto counts = window_counts(op);
  if (!counts) return kOpen;
  if (!needs_powers) return {};
  if (!is_power_of_two(counts->whole))
    return fmt::format("its windows have {} elements, expected a power of two", counts->whole);
  const auto odd = std::ranges::find_if_not(counts->cut, is_power_of_two);
  if (odd == counts->cut.end()) return {};
  return fmt::format("a window at an edge has {} elements, expected a power of two", *odd);
}

AccumulatorProof accumulator_proof(Op op, arith::Requantization form, std::span<const int64_t> farthest) {
  const auto counts = window_counts(op);
  if (is_average(op) && !counts) fail(errors::window_of_dynamic_dims(op.where()));
  AccumulatorProof proof{{}, farthest[0] * farthest.back(), arith::most_accumulated(form)};  // proof of a product
  if (counts) proof = average_proof(*counts, form, farthest[0]);
  if (op.info().quant.accumulates == Accumulation::axes || op.info().quant.accumulates == Accumulation::taps) {
    const auto weights = passes::average_weights(op);
    proof.bound = weights ? weights->magnitudes * farthest[0] : proof.limit;  // settle_extents checks dynamic extents
  }
  if (op.info().quant.accumulates == Accumulation::running) proof.bound = running_elements(op) * farthest[0];
  if (op.info().quant.accumulates == Accumulation::contraction)
    proof.bound = farthest_stored(farthest[0]) * farthest_stored(farthest.back());
  if (const int64_t depth = contracted_elements(op); depth != kUnknown) proof.bound *= depth;
  if (op.info().quant.accumulates == Accumulation::sum) proof = sum_proof(form, farthest);
  proof.layer = op.name();
  if (proof.bound > proof.limit)
    fail(placed(errors::accumulator_overflow(op.where(), proof.bound, proof.limit,
                                             is_average(op) ? " or a smaller window" : ""),
                op.name(), ""));
  return proof;
}

}  // namespace halfstep::quant
