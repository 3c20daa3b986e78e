#include "halfstep/passes/canonical/index_arithmetic.h"

#include <algorithm>
#include <ranges>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"

namespace halfstep::passes {
namespace {

bool is_real(Value value) { return value && is_float(value.dtype()); }

/// Whether the operand contains positions of elements.
bool reads_places(Op op, int operand) {
  const std::string& port = op.info().inputs[static_cast<size_t>(op.port_of(operand))].name;
  return (op.is<ops::GridSample>() && port == "grid") || (op.is<ops::RoiAlign>() && port == "rois") ||
         (op.is<ops::OneHot>() && port == "indices");
}

/// Whether results are integers, whatever their type.
bool rounds(Op op) { return op.is<ops::Floor, ops::Ceil, ops::Round, ops::Sign>(); }

/// Whether the operator only moves elements: it counts no operations.
bool moves_elements(Op op) {
  if (moves_codes(op)) return true;
  if (op.info().flops == nullptr) return false;
  OpTypes types;
  for (const Value operand : op.operands()) types.in.push_back(operand ? &operand.type() : nullptr);
  for (size_t port = 0; port < op.info().outputs.size(); ++port) {
    const Value result = op.out(static_cast<int>(port));
    types.out.push_back(result ? &result.type() : nullptr);
  }
  return op.info().flops(types) == 0;
}

/// Whether the operator replaces the elements of a mask that hide others, which passes/computed_masks inserts.
bool softens_mask(Op op) {
  if (!op.is<ops::MaskFill>()) return false;
  const ops::MaskFill fill(op.node());
  const Op hides = fill.condition().producer();
  return hides.is<ops::LessOrEqual>() && hides.in(0) == fill.x();
}

bool is_matrix(Value value) {
  const Dims& dims = value.dims();
  return std::ranges::count_if(dims, [](int64_t extent) { return extent != 1; }) > 1;
}

}  // namespace

bool reads_elements(Op op, int operand) {
  if (op.is<ops::Positions, ops::ZerosLike, ops::EyeLike>()) return false;
  return !op.is<ops::ReshapeBy>() || operand == 0;
}

IndexArithmetic::IndexArithmetic(const Graph& graph) {
  find_activations(graph.body());
  find_data(graph.body());
}

bool IndexArithmetic::is_stored(Value value) const { return value.is_tensor() || stored_.contains(value.node()); }

/// Whether the operator multiplies its input by a stored matrix, which makes it a layer with weights in any form.
bool IndexArithmetic::computes_with_weights(Op op) const {
  if (has_trait(op, Trait::weighted) || has_trait(op, Trait::weighted_in_float)) return true;
  if (op.info().elementwise || moves_elements(op)) return false;
  return std::ranges::any_of(op.operands(),
                             [&](Value value) { return is_real(value) && is_stored(value) && is_matrix(value); });
}

bool IndexArithmetic::reads(Op op, const std::set<const detail::ValueNode*>& values) const {
  const std::vector<Value> operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] && values.contains(operands[i].node()) && reads_elements(op, static_cast<int>(i))) return true;
  }
  return false;
}

bool IndexArithmetic::gives_activations(Op op) const {
  if (op.info().codes || op.info().flow != Flow::none || computes_with_weights(op)) return true;
  return !rounds(op) && reads(op, activations_);
}

/// Decides whether the results of an operator are counted: it reads no elements, or counted ones and stored numbers. A
/// stored table stays data, because its rows are learned.
void IndexArithmetic::find_counted(Op op) {
  if (op.results().empty() || op.info().flow != Flow::none || op.info().codes) return;
  bool reads_counted = false, reads_spread = false, computes = false;
  const std::vector<Value> operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] || !reads_elements(op, static_cast<int>(i))) continue;
    if (is_stored(operands[i])) {
      if (op.is<ops::Gather>() && is_real(operands[i]) && is_matrix(operands[i])) return;
      continue;
    }
    const bool is_spread = spread_.contains(operands[i].node());
    if (!is_spread && !counted_.contains(operands[i].node())) return;
    (is_spread ? reads_spread : reads_counted) = true;
    computes = computes || (!is_spread && is_real(operands[i]));
  }
  const bool counts = op.is<ops::Positions>();
  if (!counts && !reads_counted && !reads_spread) return;
  const bool selects = op.is<ops::Select, ops::MaskFill>() && reads_counted;
  for (const Value result : op.results()) {
    const bool is_number = counts || computes || selects || op.is<ops::Cast>() || !is_real(result);
    (is_number ? counted_ : spread_).insert(result.node());
  }
}

void IndexArithmetic::find_activations(const Block& block) {
  for (const Value argument : block.arguments()) {
    if (is_real(argument)) (block.parent() ? activations_ : from_inputs_).insert(argument.node());
  }
  for (Op op : block.ops()) {
    for (const auto& region : op.regions()) find_activations(*region);
    const std::vector<Value> operands = op.operands();
    const bool reads_stored =
        !operands.empty() && std::ranges::all_of(operands, [&](Value value) { return !value || is_stored(value); });
    find_counted(op);
    const bool gives = gives_activations(op), is_from_inputs = reads(op, from_inputs_);
    for (const Value result : op.results()) {
      if (reads_stored) {
        stored_.insert(result.node());
        continue;
      }
      if (gives && is_real(result)) activations_.insert(result.node());
      if (is_from_inputs && is_real(result)) from_inputs_.insert(result.node());
    }
  }
}

bool IndexArithmetic::is_data_of(Op user, int operand) const {
  if (user == user.node()->block->return_op() || user.info().flow != Flow::none) return true;
  if (!reads_elements(user, operand) || reads_places(user, operand) || has_trait(user, Trait::observer)) return false;
  return gives_data(user);
}

bool IndexArithmetic::gives_data(Op op) const {
  return std::ranges::any_of(op.results(), [&](Value result) {
    return is_real(result) && (is_activation(result) || data_.contains(result.node()));
  });
}

bool IndexArithmetic::is_index(Op op) const {
  const std::vector<Value> results = op.results();
  if (results.empty() || op.info().codes || op.info().flow != Flow::none || has_trait(op, Trait::observer))
    return false;
  const auto is_exact_data = [&](Value result) {
    const bool is_own = counted_.contains(result.node()) || (softens_mask(op) && !from_inputs_.contains(result.node()));
    return is_own && !is_activation(result);
  };
  if (!gives_data(op) || std::ranges::all_of(results, is_exact_data)) return true;
  const auto is_read = [&](const auto& use) { return contains(use.first) && reads_elements(use.first, use.second); };
  return std::ranges::all_of(results, [&](Value result) {
    return !is_activation(result) && !from_inputs_.contains(result.node()) &&
           std::ranges::any_of(result.uses(), is_read);
  });
}

void IndexArithmetic::find_data(const Block& block) {
  const std::vector<Op> ops = block.ops();
  for (Op op : std::views::reverse(ops)) {
    for (const auto& region : op.regions()) find_data(*region);
    const std::vector<Value> results = op.results();
    const bool is_unread = std::ranges::all_of(results, [](Value result) { return result.unused(); });
    for (const Value result : results) {
      const auto needs = [&](const auto& use) { return is_data_of(use.first, use.second); };
      const bool is_left = is_unread && from_inputs_.contains(result.node());  // on the path of the data
      if (is_real(result) && (is_left || std::ranges::any_of(result.uses(), needs))) data_.insert(result.node());
    }
    if (is_index(op)) ops_.insert(op.node());
  }
}

bool IndexArithmetic::is_exact(Op op) const { return contains(op) && !reads(op, activations_); }

}  // namespace halfstep::passes
