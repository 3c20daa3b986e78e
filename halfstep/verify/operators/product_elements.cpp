#include "halfstep/verify/operators/product_elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::verify {
namespace {

/// Eight parallel sums on every processor, independent of its vector length. Results do not depend on the processor.
using Lanes = double __attribute__((vector_size(64)));
constexpr size_t kLanes = 8, kRows = 4, kPatches = 4;

/// One version for each CPU level. The loader selects one before ThreadSanitizer is initialized, so that build has
/// none.
#ifdef __SANITIZE_THREAD__
#define HS_CLONED
#else
#define HS_CLONED __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/// Computes sums[r * kPatches + p] = row r * patch p for consecutive patches. Reads each patch once for all rows.
HS_CLONED void multiply(const std::array<const double*, kRows>& rows, const double* patches, size_t taps,
                        double* sums) {
  Lanes lanes[kRows][kPatches] = {};
  size_t i = 0;
  for (; i + kLanes <= taps; i += kLanes) {
    Lanes weights[kRows], activations;
#pragma GCC unroll 4  // keeps the sums in registers
    for (size_t r = 0; r < kRows; ++r) std::memcpy(&weights[r], rows[r] + i, sizeof(Lanes));
#pragma GCC unroll 4
    for (size_t p = 0; p < kPatches; ++p) {
      std::memcpy(&activations, patches + p * taps + i, sizeof(activations));
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) lanes[r][p] += weights[r] * activations;
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t p = 0; p < kPatches; ++p) {
      double sum = 0;
      for (size_t lane = 0; lane < kLanes; ++lane) sum += lanes[r][p][lane];
      for (size_t rest = i; rest < taps; ++rest) sum += rows[r][rest] * patches[p * taps + rest];
      sums[r * kPatches + p] = sum;
    }
  }
}

std::vector<double> magnitudes_of(std::vector<double> numbers) {
  for (double& number : numbers) number = std::fabs(number);
  return numbers;
}

bool is_plain_matrix_product(Op op) {
  if (op.is<ops::Linear>()) return true;
  if (op.is<ops::Gemm>()) return !ops::Gemm(op.node()).transpose_a();
  return op.is<ops::Matmul>() && !ops::Matmul(op.node()).transpose_a() && op.in(0).dims().size() == 2;
}

bool is_stored(Value value) {
  while (value && !value.is_tensor() && is_quantizer(value.producer())) value = value.producer().in(0);
  return value && value.is_tensor();
}

/// Whether the value is a tensor, or depends on tensors only in at most `steps` operations.
bool depends_on_nothing(Value value, int steps = 4) {
  if (!value || value.is_tensor()) return true;
  const Op op = value.producer();
  return steps > 0 && op && op.info().flow == Flow::none &&
         std::ranges::all_of(op.operands(), [&](Value operand) { return depends_on_nothing(operand, steps - 1); });
}

}  // namespace

bool is_foreign_quantizer(Op op) {
  if (!op) return false;
  const Trait trait = op.info().quant.trait;
  return trait == Trait::to_codes || trait == Trait::from_codes || trait == Trait::to_codes_and_back;
}

Value scaled_and_moved(Op op) {
  if (op.is<ops::BatchNorm, ops::Neg>()) return op.in(0);
  if (!op.is<ops::Add, ops::Sub, ops::Mul, ops::Div>()) return {};
  if (depends_on_nothing(op.in(1))) return op.in(0);
  return !op.is<ops::Div>() && depends_on_nothing(op.in(0)) ? op.in(1) : Value();
}

bool keeps_order(Op op) {
  if (op.is<ops::MaxOf, ops::MinOf, ops::SumOf, ops::MeanOf>()) return op.node()->operands.size() == 1;
  return op.is<ops::Reshape, ops::ReshapeBy, ops::Flatten, ops::Squeeze, ops::Unsqueeze>();
}
bool is_quantizer(Op op) { return is_foreign_quantizer(op) || (op && op.info().quant.trait == Trait::quantizer); }

bool is_recognised(Op before, Op after) {
  if (!before || !after || &before.info() == &after.info()) return false;
  if (before.is<ops::Div, ops::MeanOf>() && after.is<ops::Mul>()) return true;
  if (before.is<ops::Attention>()) return true;
  const Trait trait = after.info().quant.trait;
  return trait == Trait::pointwise || trait == Trait::normalizes;
}

std::optional<WeightPorts> weight_ports(Op op) {
  WeightPorts ports{op.info().quant.weight, op.info().quant.bias};
  if (op.is<ops::Gemm>()) ports = {op.info().input("b"), op.info().input("c")};
  if (op.is<ops::Matmul>()) ports = {op.info().input("b"), -1};
  if (ports.weight < 0 || !is_stored(op.in(ports.weight))) return std::nullopt;
  return ports;
}

bool inputs_first(Op op) {
  if (op.is<ops::Gemm>()) return !ops::Gemm(op.node()).transpose_b();
  return op.is<ops::Matmul>() && !ops::Matmul(op.node()).transpose_b();
}

size_t channel_axis(Op op) {
  const bool matrix = op.is<ops::Linear, ops::Gemm, ops::Matmul>();
  return matrix ? op.out(0).dims().size() - 1 : 1;
}

std::optional<Product> Product::of(Op op, const Numbers& weight) {
  if (!is_convolution(op) && !is_plain_matrix_product(op)) return std::nullopt;
  return Product(op, weight);
}

Product::Product(Op op, const Numbers& weight) : y_(op.out(0).dims()) {
  const Tensor w = weight.operand();
  const auto elements = w.data<double>();
  const int64_t outputs = y_[channel_axis(op)];
  taps_ = outputs == 0 ? 0 : w.size() / outputs;
  rows_.assign(elements.begin(), elements.end());
  if (inputs_first(op)) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < taps_; ++i)
        rows_[static_cast<size_t>(o * taps_ + i)] = elements[static_cast<size_t>(i * outputs + o)];
    }
  }
  if (!is_convolution(op)) return;
  window_.emplace(op);
  rows_ = window_->rows(elements);
}

Product::Place Product::place(int64_t element) const {
  if (!window_) return {element / y_[1], element % y_[1]};
  const int64_t plane = window_->plane(), channel = element / plane % y_[1], image = element / plane / y_[1];
  const int64_t group = channel / (y_[1] / window_->groups());
  return {(image * window_->groups() + group) * plane + element % plane, channel};
}

/// The place of the next channel at the same position, for any channel except the first.
Product::Place Product::next(Place last) const {
  const bool is_new_group = window_ && window_->groups() > 1 && (last.row + 1) % (y_[1] / window_->groups()) == 0;
  return {last.patch + (is_new_group ? window_->plane() : 0), last.row + 1};
}

void Product::fill(int64_t patch, std::vector<int64_t>& indices) const {
  if (window_) return window_->fill(patch, indices);
  for (int64_t i = 0; i < taps_; ++i) indices[static_cast<size_t>(i)] = patch * taps_ + i;
}

std::vector<Product::Run> Product::runs_of(std::span<const int64_t> indices) const {
  const int64_t step = window_ ? window_->plane() : 1;  // distance of consecutive channels
  std::vector<Run> runs;
  Place at{};
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool is_next = i > 0 && indices[i] == indices[i - 1] + step && at.row + 1 < y_[1];
    at = is_next ? next(at) : place(indices[i]);
    if (runs.empty() || runs.back().patch != at.patch) runs.push_back({at.patch, i, {}});
    runs.back().rows.push_back(at.row);
  }
  return runs;
}

std::vector<double> Product::elements(const Numbers& x, std::span<const int64_t> indices, bool magnitude) const {
  const auto taps = static_cast<size_t>(taps_);
  const std::vector<double> magnitudes = magnitude ? magnitudes_of(rows_) : std::vector<double>();
  const std::vector<double>& rows = magnitude ? magnitudes : rows_;
  std::vector<double> results(indices.size()), patches(taps * kPatches);
  std::vector<int64_t> places(taps);
  std::array<double, kRows * kPatches> sums{};
  const std::vector<Run> runs = runs_of(indices);
  for (size_t first = 0; first < runs.size(); first += kPatches) {
    const std::span now = std::span(runs).subspan(first, std::min(kPatches, runs.size() - first));
    for (size_t p = 0; p < now.size(); ++p) {
      const std::span patch = std::span(patches).subspan(p * taps, taps);
      fill(now[p].patch, places);
      x.read(places, patch);
      if (magnitude) std::ranges::transform(patch, patch.begin(), [](double v) { return std::fabs(v); });
    }
    const bool alike = std::ranges::all_of(now, [&](const Run& run) { return run.rows == now[0].rows; });
    for (size_t p = 0; p < (alike ? 1 : now.size()); ++p) {
      for (size_t i = 0; i < now[p].rows.size(); i += kRows) {
        const size_t count = std::min(kRows, now[p].rows.size() - i);
        std::array<const double*, kRows> factors{};
        for (size_t r = 0; r < kRows; ++r)
          factors[r] = &rows[static_cast<size_t>(now[p].rows[i + std::min(r, count - 1)]) * taps];
        multiply(factors, patches.data(), taps, sums.data());
        for (size_t r = 0; r < count; ++r) {
          for (size_t to = p; to < (alike ? now.size() : p + 1); ++to)
            results[now[to].begin + i + r] = sums[r * kPatches + to];
        }
      }
    }
  }
  return results;
}

}  // namespace halfstep::verify
