#include "halfstep/passes/uses.h"

#include <algorithm>

#include "halfstep/base/status.h"

namespace halfstep::passes {

bool updates_state(Op op) {
  for (const Value result : op.results()) {
    const int state = op.info().output_at(result.port()).state_of;
    if (state >= 0 && op.in(state) && op.in(state).is_tensor()) return true;
  }
  return false;
}

Op updater_of(Value tensor) {
  Op updater;
  for (const auto& [op, operand] : tensor.uses()) {
    for (const Value result : op.results()) {
      if (op.info().output_at(result.port()).state_of != operand) continue;
      if (updater) {
        fail("{}: tensor '{}' is updated by node '{}' and by node '{}', expected one", op.where(), tensor.name(),
             updater.name(), op.name());
      }
      updater = op;
    }
  }
  return updater;
}

namespace {

void add_tensors(const Block& region, std::vector<Value>& values) {
  const auto add = [&](Value value) {
    if (value && value.is_tensor() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  for (const Op op : region.ops()) {
    for (const Value operand : op.operands()) add(operand);
    for (const auto& inner : op.regions()) add_tensors(*inner, values);
  }
  for (const Value output : region.outputs()) add(output);
}

}  // namespace

std::vector<Value> tensors_in(const Block& region) {
  std::vector<Value> tensors;
  add_tensors(region, tensors);
  return tensors;
}

std::vector<Value> reads(Op op) {
  std::vector<Value> values;
  for (const Value operand : op.operands()) {
    if (operand) values.push_back(operand);
  }
  for (const auto& region : op.regions()) add_tensors(*region, values);
  return values;
}

ValueSet dependents(const Graph& graph, const std::vector<Value>& values) {
  ValueSet found;
  for (const Value value : values) found.insert(value.node());
  for (const Op op : graph.ops()) {
    if (std::ranges::none_of(reads(op), [&](Value value) { return found.contains(value.node()); })) continue;
    for (const Value result : op.results()) found.insert(result.node());
  }
  return found;
}

void expect_extents(const detail::ValueNode& value, Value made) {
  if (made.dims() == value.type.dims) return;
  throw Error(ErrorKind::internal, fmt::format("this is a bug: '{}' is {}, and '{}', which stands for it, is {}",
                                               value.name, to_string(value.type), made.name(), to_string(made.type())));
}

bool is_output(Value value) {
  const std::vector<Value> outputs = value.producer().node()->block->outputs();
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

}  // namespace halfstep::passes
