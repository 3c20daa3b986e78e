#include "halfstep/quant/prepare/float_fallback.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/quantized/compared_codes.h"
#include "halfstep/quant/prepare/code_plan.h"
#include "halfstep/quant/prepare/quantized_regions.h"

namespace halfstep::quant {
namespace {

/// Whether the operation reads or computes float values. Integers such as ids and extents are identical in an integer
/// program. Branches and loops count by the operations in them.
bool computes_floats(Op op) {
  if (op.info().flow != Flow::none) return false;
  const auto is_real = [](Value value) { return value && is_float(value.dtype()); };
  return std::ranges::any_of(op.operands(), is_real) || std::ranges::any_of(op.results(), is_real);
}

/// The values that `operand` of an operation with regions becomes: arguments of the regions and, if no iteration runs,
/// the result. None for a condition.
std::vector<Value> passed_in(Op op, size_t operand) {
  const FlowParts parts(op);
  if (operand < parts.first) return {};
  std::vector<Value> values;
  const size_t place = operand - parts.first;
  for (const auto& region : op.regions()) values.push_back(region->arguments()[place]);
  if (place < parts.states) values.push_back(op.out(static_cast<int>(place)));
  return values;
}

/// The values that an output of a region becomes: the result, and the argument of the next iteration. None for a
/// condition, or in the network's body.
std::vector<Value> passed_out(Op end, size_t output) {
  const Block& region = *end.node()->block;
  const Op op = region.parent();
  if (!op) return {};
  const FlowParts parts(op);
  if (output < parts.conditions) return {};
  const size_t place = output - parts.conditions;
  std::vector<Value> values = {op.out(static_cast<int>(place))};
  if (place < parts.states) values.push_back(region.arguments()[place]);
  return values;
}

/// Whether a result has codes. Codes have at most 16 bits.
bool gives_codes(Op op) {
  return std::ranges::any_of(op.results(), [](Value result) {
    const DType dtype = result.dtype();
    return dtype != DType::boolean && !is_float(dtype) && bits_of(dtype) <= 16;
  });
}

/// Whether a result reaches an operator for which `ends` is true, or with `outputs` an output of the network.
template <class Ends>
bool reaches(Op op, bool outputs, Ends ends) {
  std::vector<Value> waiting = op.results();
  std::set<const detail::ValueNode*> seen;
  while (!waiting.empty()) {
    const Value value = waiting.back();
    waiting.pop_back();
    if (!seen.insert(value.node()).second) continue;
    for (const auto& [user, operand] : value.uses()) {
      const auto place = static_cast<size_t>(operand);
      const bool is_end = user == user.node()->block->return_op();
      if (is_end && outputs && !user.node()->block->parent()) return true;
      if (!is_end && user.regions().empty() && ends(user)) return true;
      const std::vector<Value> next = is_end                   ? passed_out(user, place)
                                      : user.regions().empty() ? user.results()
                                                               : passed_in(user, place);
      waiting.insert(waiting.end(), next.begin(), next.end());
    }
  }
  return false;
}

/// Whether the results only select branches and end loops.
bool only_decides(Op op) {
  return !reaches(op, true, [](Op) { return false; });
}

/// Operators that compute from integers and stored numbers alone. Their results are the same in every program.
std::set<const detail::OpNode*> computing_from_integers(const Graph& graph) {
  std::set<const detail::OpNode*> found;
  for (const Op op : graph.all_ops()) {
    if (op.info().flow != Flow::none || op.info().quant.trait == Trait::quantizer) continue;
    bool has_source = op.is<ops::Cast>() && !is_float(op.in(0).dtype()) && op.in(0).dtype() != DType::boolean;
    bool has_others = false;
    for (const Value operand : op.operands()) {
      if (!operand || operand.is_tensor() || !is_float(operand.dtype())) continue;
      const bool is_source = operand.producer() && found.contains(operand.producer().node());
      (is_source ? has_source : has_others) = true;
    }
    if (has_source && !has_others) found.insert(op.node());
  }
  return found;
}

/// Operators on data that stay in float and for which `counts` is true.
std::vector<FloatFallback> in_float(const Model& model, bool (*counts)(Op)) {
  const FloatOperators& reasons = model.metadata.float_operators;
  const auto outside = outside_regions(model.graph);
  const passes::IndexArithmetic indices(model.graph);
  const auto from_integers = computing_from_integers(model.graph);
  std::vector<FloatFallback> fallbacks;
  for (Op op : model.graph.all_ops()) {
    const auto found = reasons.find(op.name());
    if (found == reasons.end() || !computes_floats(op) || indices.is_exact(op) || !counts(op)) continue;
    if (from_integers.contains(op.node()) && !was_asked_for(found->second)) continue;
    if (passes::compared_codes(model, op)) continue;
    fallbacks.push_back({op.name(), op.info().name, found->second, outside.contains(op.node())});
  }
  return fallbacks;
}

}  // namespace

std::vector<FloatFallback> float_fallback(const Model& model) {
  return in_float(model, [](Op op) { return !only_decides(op); });
}

std::vector<FloatFallback> deciding_in_float(const Model& model) { return in_float(model, only_decides); }

std::vector<FloatFallback> fallbacks_into_codes(const Model& integer) {
  auto fallbacks = float_fallback(integer);
  std::erase_if(fallbacks, [&](const FloatFallback& fallback) {
    const Op op = integer.graph.op(fallback.layer);
    return op.is<ops::Cast>() || !reaches(op, false, gives_codes);
  });
  return fallbacks;
}

std::vector<FloatFallback> fallbacks_inside(const Model& prepared) {
  auto fallbacks = float_fallback(prepared);
  std::erase_if(fallbacks, [](const FloatFallback& fallback) { return fallback.is_outside; });
  return fallbacks;
}

std::string describe(const std::vector<FloatFallback>& fallbacks) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, fallbacks.size()); ++i)
    shown.push_back(fmt::format("{} '{}'", fallbacks[i].op, fallbacks[i].layer));
  if (fallbacks.size() > kShown) shown.push_back(fmt::format("{} more", fallbacks.size() - kShown));
  return fmt::format("{} operator{} ({})", fallbacks.size(), fallbacks.size() == 1 ? "" : "s", fmt::join(shown, ", "));
}

}  // namespace halfstep::quant
