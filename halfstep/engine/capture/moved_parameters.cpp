#include "halfstep/engine/capture/moved_parameters.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::capture {
namespace {

bool is_parameter(Value value) { return value.is_tensor() && value.role() == Role::parameter; }

bool is_move(Op op) {
  return op.is<ops::Reshape, ops::Transpose, ops::Unsqueeze, ops::Squeeze, ops::Slice, ops::Concat>();
}

/// The range of a slice along the first axis. Empty for other operations.
std::pair<int64_t, int64_t> first_axis_range(Op op) {
  if (!op.is<ops::Slice>()) return {};
  const ops::Slice slice(op.node());
  const bool is_plain = slice.starts().size() == 1 && slice.axes() == std::vector<int64_t>{0} &&
                        slice.steps() == std::vector<int64_t>{1} && slice.starts()[0] >= 0 && slice.ends()[0] >= 0;
  return is_plain ? std::pair(slice.starts()[0], slice.ends()[0]) : std::pair<int64_t, int64_t>();
}

/// Whether no element has two readers: there is one, or all are slices apart from each other.
bool is_read_once(Value tensor) {
  if (tensor.has_one_use()) return true;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto& [reader, operand] : tensor.uses()) ranges.push_back(first_axis_range(reader));
  std::ranges::sort(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first >= ranges[i].second || (i > 0 && ranges[i].first < ranges[i - 1].second)) return false;
  }
  return true;
}

void store(Model& model, Op op) {
  std::vector<Tensor> operands;
  const std::vector<Value> tensors = op.operands();
  for (const Value tensor : tensors) operands.push_back(model.tensors.at(tensor.name()));
  const Tensor moved = eager::call(op.info(), op.attributes(), operands)[0];
  const std::string name = tensors[0].name();
  const Value result = op.out(0);
  const Value placeholder = passes::add_tensor(model, op.name() + ".stored", moved, Role::parameter);
  result.replace_all_uses_with(placeholder);
  model.graph.erase(op);
  for (const Value tensor : tensors) {
    if (tensor.unused()) passes::erase_tensor(model, tensor);
  }
  placeholder.replace_all_uses_with(passes::add_tensor(model, name, moved, Role::parameter));
  passes::erase_tensor(model, placeholder);
}

/// Replaces a move of parameters by an equal one before it: a layer that runs twice reads its weights once.
void join_equal_moves(Graph& graph) {
  std::map<std::tuple<std::string, std::vector<const detail::ValueNode*>, Attributes>, Value> first;
  passes::ValueSet moved;
  for (const Op op : graph.ops()) {
    std::vector<const detail::ValueNode*> operands;
    for (const Value operand : op.operands()) operands.push_back(operand.node());
    const auto is_known = [&](Value operand) { return is_parameter(operand) || moved.contains(operand.node()); };
    if (!is_move(op) || !std::ranges::all_of(op.operands(), is_known)) continue;
    const auto [found, is_new] = first.try_emplace({op.info().name, operands, op.attributes()}, op.out(0));
    if (is_new) {
      moved.insert(op.out(0).node());
    } else if (!passes::is_output(op.out(0))) {
      op.out(0).replace_all_uses_with(found->second);
      graph.erase(op);
    }
  }
}

}  // namespace

void store_moved_parameters(Model& model) {
  join_equal_moves(model.graph);
  for (const Op op : model.graph.ops()) {
    const auto is_movable = [](Value operand) { return is_parameter(operand) && is_read_once(operand); };
    if (is_move(op) && !passes::is_output(op.out(0)) && std::ranges::all_of(op.operands(), is_movable))
      store(model, op);
  }
}

}  // namespace halfstep::capture
