#include "halfstep/fuzz/rounded_run.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/fuzz/network_trial.h"
#include "halfstep/fuzz/stepwise.h"

namespace halfstep::fuzz {
namespace {

/// Shorter steps count as 0, because such numbers are negligible.
constexpr double kLeastStep = 0x1p-60;
/// Maximum factor by which draws lengthen steps.
constexpr double kLongest = 1.5;
/// Within this many steps of a pole, the slope varies from step to step.
constexpr double kNear = 4;

double step_of(double range, int bits, const Grid& grid) {
  const double step = range / (std::exp2(bits) - 1);
  if (step < kLeastStep) return 0;
  return grid.power_of_two ? std::exp2(std::ceil(std::log2(step))) : step;
}

void round_to(std::span<float> elements, double step) {
  if (step == 0) return;
  for (float& x : elements) {
    if (std::isfinite(x)) x = static_cast<float>(std::nearbyint(x / step) * step);
  }
}

double largest_magnitude(const Tensor& tensor, int64_t first, int64_t stride, int64_t block) {
  double largest = 0;
  const auto data = tensor.data<float>();
  for (int64_t at = first; at < tensor.size(); at += stride) {
    for (int64_t i = at; i < at + block; ++i)
      largest = std::max(largest, std::abs(double{data[static_cast<size_t>(i)]}));
  }
  return largest;
}

/// Rounds to symmetric steps, one for each channel or one for the tensor.
void round_weight(Tensor& tensor, int axis, const Grid& grid, double longer) {
  const bool apart = axis >= 0 && grid.per_channel && axis < static_cast<int>(tensor.dims().size());
  const int64_t channels = apart ? tensor.dims()[static_cast<size_t>(axis)] : 1;
  int64_t block = tensor.size();
  if (apart) {
    block = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < tensor.dims().size(); ++i) block *= tensor.dims()[i];
  }
  for (int64_t c = 0; c < channels; ++c) {
    const double reach = largest_magnitude(tensor, c * block, channels * block, block);
    const double step = step_of(2 * reach, grid.weight_bits, grid) * longer;
    for (int64_t at = c * block; at < tensor.size(); at += channels * block)
      round_to(tensor.data<float>().subspan(static_cast<size_t>(at), static_cast<size_t>(block)), step);
  }
}

bool moves(const Op& op) { return op.info().quant.trait == Trait::preserves_range; }

/// Whether it is a step function, or has poles inside its domain. Comparisons and conversions to integers are
/// recognized by their types.
bool goes_in_steps(const Op& op) {
  return op.is<ops::Ceil, ops::Floor, ops::Round, ops::Sign, ops::Modulo, ops::Hardmax, ops::Tan, ops::Shrink,
               ops::ThresholdedRelu>();
}

/// Whether only the operand's extents are read, and not its elements.
bool says_extents(const Op& op, int operand) {
  return op.info().inputs[static_cast<size_t>(op.port_of(operand))].name == "like";
}

/// The only axis with more than one element, -1 if there are several.
int only_axis(const Dims& dims) {
  const auto is_long = [](int64_t extent) { return extent != 1; };
  if (std::ranges::count_if(dims, is_long) != 1) return -1;
  return static_cast<int>(std::ranges::find_if(dims, is_long) - dims.begin());
}

/// Whether the operand scales the channels of a batch norm that is a layer of its own.
bool scales_channels(const Op& op, int operand) {
  if (!op.is<ops::BatchNorm>() || op.port_of(operand) != ops::BatchNorm::record().input("scale")) return false;
  const Op layer = op.in(0).producer();
  return !layer || layer.info().quant.weight < 0;
}

/// Whether the operand holds positions of elements, so that its values do not become results.
bool says_places(const Op& op, int operand) {
  if (op.port_of(operand) == op.info().quant.index || says_extents(op, operand)) return true;
  return !is_float(op.operands()[static_cast<size_t>(operand)].dtype()) && !op.info().elementwise &&
         !op.is<ops::Cast>();
}

}  // namespace

RoundedRun::RoundedRun(const Model& model) : model_(model), ops_(model.graph.ops()) {
  for (const Op& op : ops_) {
    if (!op.regions().empty()) throw Skipped{"branches or iterations"};
  }
  for (const Value& argument : model.graph.arguments()) dependent_.insert(argument.node());
  for (const Op& op : ops_) {
    const auto operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool is_read = operands[i] && !says_extents(op, static_cast<int>(i));
      if (!is_read || !dependent_.contains(operands[i].node())) continue;
      for (const Value& result : op.results()) dependent_.insert(result.node());
    }
  }
  find_data();
  find_weights();
  find_shared();
}

/// The operator's results contribute to outputs.
void RoundedRun::require_smooth(const Op& op, size_t operand) const {
  const Value value = op.operands()[operand];
  if (!dependent_.contains(value.node())) return;
  if (says_extents(op, static_cast<int>(operand))) return;
  const bool is_place = says_places(op, static_cast<int>(operand));
  if (is_place) throw Skipped{"places depend on the inputs"};
  if (goes_in_steps(op) || (is_float(value.dtype()) && !is_float(op.results().front().dtype())))
    throw Skipped{"a function has steps or poles"};
}

void RoundedRun::find_data() {
  std::set<const detail::ValueNode*> carries;
  for (const Value& output : model_.graph.outputs()) carries.insert(output.node());
  for (const Op& op : std::vector(ops_.rbegin(), ops_.rend())) {
    const auto results = op.results();
    if (std::ranges::none_of(results, [&](Value result) { return carries.contains(result.node()); })) continue;
    const auto operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i]) continue;
      require_smooth(op, i);
      if (!says_places(op, static_cast<int>(i))) carries.insert(operands[i].node());
    }
  }
  for (const auto* node : carries) {
    if (node->type.dtype == DType::f32) data_.insert(node);
  }
}

void RoundedRun::find_weights() {
  for (const Value& argument : model_.graph.arguments()) roundings_[argument.node()].kind = Kind::activation;
  for (const Op& op : ops_) {
    const QuantInfo& quant = op.info().quant;
    for (const Value& result : op.results()) {
      if (!moves(op))
        roundings_[result.node()].kind = quant.trait == Trait::same_scale ? Kind::joined : Kind::activation;
    }
    const auto operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i] || !operands[i].is_tensor() || op.port_of(static_cast<int>(i)) == quant.bias) continue;
      if (op.port_of(static_cast<int>(i)) == quant.fill)
        roundings_.try_emplace(operands[i].node(), Rounding{.kind = Kind::activation, .like = operands.front().node()});
      const bool is_weight = quant.weight >= 0 && op.port_of(static_cast<int>(i)) == quant.weight;
      const bool scales = op.is<ops::Mul, ops::Div>() && count_elements(operands[i].dims()) > 1;
      if (scales_channels(op, static_cast<int>(i))) {
        roundings_[operands[i].node()] = {.kind = Kind::weight, .axis = 0};
      } else if (is_weight || quant.accumulates == Accumulation::contraction || op.is<ops::Gemm>()) {
        roundings_[operands[i].node()] = {.kind = Kind::weight, .axis = is_weight ? quant.weight_axis : -1};
      } else if (scales || quant.trait == Trait::accumulates || quant.trait == Trait::same_scale) {
        const auto kind = scales ? Kind::factor : Kind::activation;
        roundings_.try_emplace(operands[i].node(), Rounding{.kind = kind, .axis = only_axis(operands[i].dims())});
      }
    }
  }
}

/// Operators that move elements keep their step. The parts of a concatenation share its step.
void RoundedRun::find_shared() {
  for (const Op& op : ops_) {
    const bool joins = op.info().quant.trait == Trait::same_scale;
    if (!joins && !moves(op)) continue;
    const auto operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool has_data = operands[i] && data_.contains(operands[i].node()) && !says_places(op, static_cast<int>(i));
      if (!has_data || (!joins && op.port_of(static_cast<int>(i)) == op.info().quant.fill)) continue;
      const Node owner = owner_of(operands[i].node()), joined = owner_of(op.results().front().node());
      if (owner != joined) shares_with_[owner] = joined;
    }
  }
}

RoundedRun::Node RoundedRun::owner_of(Node value) const {
  for (auto next = shares_with_.find(value); next != shares_with_.end(); next = shares_with_.find(value))
    value = next->second;
  return value;
}

Tensors RoundedRun::run(const Tensors& inputs, const VisitData& visit) const {
  return run_stepwise(model_, inputs, [&](Value value, const Tensor& tensor, std::span<const Tensor>) {
    return data_.contains(value.node()) ? visit(value, tensor) : tensor;
  });
}

Tensors RoundedRun::exact(const Tensors& inputs) {
  std::set<Node> infinite;
  return run(inputs, [&](Value value, const Tensor& tensor) {
    Range& range = ranges_[value.node()];
    for (const float x : tensor.data<float>()) {
      if (!std::isfinite(x)) {
        infinite.insert(value.node());
      } else {
        range = {std::min(range.low, double{x}), std::max(range.high, double{x})};
      }
    }
    const Op maker = infinite.contains(value.node()) ? value.producer() : Op();
    const auto is_infinite = [&](Value operand) { return operand && infinite.contains(operand.node()); };
    if (maker && std::ranges::none_of(maker.operands(), is_infinite)) throw Skipped{"a function is at a pole"};
    return tensor;
  });
}

RoundedRun::Range RoundedRun::range_of(Node value, bool joins) const {
  Range range = ranges_.at(value);
  if (!joins) return range;
  const Node owner = owner_of(value);
  for (const auto& [other, its] : ranges_) {
    if (owner_of(other) == owner) range = {std::min(range.low, its.low), std::max(range.high, its.high)};
  }
  return range;
}

/// If a number is rounded across 0, its reciprocal changes its sign. At 1 the slope of an arc sine is infinite.
void RoundedRun::require_no_poles(const Grid& grid) const {
  for (const Op& op : ops_) {
    if (op.is<ops::Asin, ops::Acos, ops::Atanh>() && dependent_.contains(op.in(0).node())) {
      const Range range = ranges_.contains(op.in(0).node()) ? range_of(op.in(0).node(), grid.joins) : Range();
      const double step = step_of(range.high - range.low, grid.activation_bits, grid) * grid.coarseness * kLongest;
      if (std::max(-range.low, range.high) + kNear * step >= 1) throw Skipped{"a function is at a pole"};
    }
    if (!op.is<ops::Reciprocal, ops::Div>()) continue;
    const detail::ValueNode* divisor = op.operands().back().node();
    const auto range = ranges_.find(divisor);
    if (!dependent_.contains(divisor) || range == ranges_.end()) continue;
    if (range->second.low < 0 && range->second.high > 0) throw Skipped{"a function is at a pole"};
  }
}

Tensors RoundedRun::rounded(const Tensors& inputs, const Grid& grid, uint64_t draw) const {
  require_no_poles(grid);
  Random random(draw, 500);
  return run(inputs, [&](Value value, const Tensor& tensor) {
    const double longer = 1 + (kLongest - 1) * static_cast<double>(random.uniform());
    const auto found = roundings_.find(value.node());
    const Rounding rounding = found == roundings_.end() ? Rounding() : found->second;
    if (rounding.kind == Kind::exact || (rounding.kind == Kind::joined && !grid.joins)) return tensor;
    Tensor result = tensor.clone();
    const bool is_exact = grid.per_channel && !grid.power_of_two;  // for one number per channel
    if (rounding.kind == Kind::weight || (rounding.kind == Kind::factor && !is_exact)) {
      round_weight(result, rounding.axis, grid, longer);
    } else {
      const Range range = range_of(rounding.like == nullptr ? value.node() : rounding.like, grid.joins);
      round_to(result.data<float>(),
               step_of(range.high - range.low, grid.activation_bits, grid) * grid.coarseness * longer);
    }
    return result;
  });
}

}  // namespace halfstep::fuzz
