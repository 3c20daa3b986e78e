#include "halfstep/passes/graph/uses.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/passes/graph/errors.h"

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
  if (tensor.node()->updates == 0) return updater;
  for (const auto& [op, operand] : tensor.uses()) {
    for (const Value result : op.results()) {
      if (op.info().output_at(result.port()).state_of != operand) continue;
      if (updater) fail(errors::tensor_updated_twice(op.where(), tensor.name(), updater.name(), op.name()));
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

bool is_stored_f32(Value value) {
  return value && value.is_tensor() && !updater_of(value) && value.dtype() == DType::f32;
}

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

namespace {

bool is_any_in(const ValueSet& found, const std::vector<Value>& values) {
  return std::ranges::any_of(values, [&](Value value) { return found.contains(value.node()); });
}

/// Returns the values in a region that depend on `found`. Its arguments correspond to the operands from `first` on.
ValueSet dependents_in(const Block& region, Op op, const FlowParts& parts, ValueSet found) {
  for (size_t i = 0; i < region.arguments().size(); ++i) {
    if (found.contains(op.operands()[parts.first + i].node())) found.insert(region.arguments()[i].node());
  }
  for (bool changed = true; changed;) {
    changed = false;
    found = dependents(region, std::move(found));
    for (size_t i = 0; i < parts.states; ++i) {
      if (found.contains(region.outputs()[parts.conditions + i].node()))
        changed = found.insert(region.arguments()[i].node()).second || changed;
    }
  }
  return found;
}

/// A result depends on `found` if a region computes it from dependent values, or if its initial state depends on them.
void add_results_of_regions(Op op, ValueSet& found) {
  const FlowParts parts(op);
  const std::vector<Value> results = op.results();
  std::vector<Value> more;
  for (const auto& region : op.regions()) {
    const ValueSet inside = dependents_in(*region, op, parts, found);
    for (size_t i = 0; i < results.size(); ++i) {
      const bool begins = i < parts.states && inside.contains(region->arguments()[i].node());
      if (begins || inside.contains(region->outputs()[parts.conditions + i].node())) more.push_back(results[i]);
    }
  }
  for (const Value result : more) found.insert(result.node());
}

}  // namespace

ValueSet dependents(const Block& block, ValueSet found) {
  for (const Op op : block.ops()) {
    if (!is_any_in(found, reads(op))) continue;
    if (!op.regions().empty() && op.info().flow != Flow::backward) {
      add_results_of_regions(op, found);
    } else {
      for (const Value result : op.results()) found.insert(result.node());
    }
  }
  return found;
}

void expect_extents(const detail::ValueNode& value, Value made) {
  if (made.dims() == value.type.dims) return;
  fail(errors::defect("passes", fmt::format("'{}' is {}, and '{}', which replaces it, is {}", value.name,
                                            to_string(value.type), made.name(), to_string(made.type()))));
}

bool is_output(Value value) { return value.producer().node()->block->returns(value); }

Op only_reader(Value value) {
  return value.has_one_use() && !is_output(value) ? Op(value.node()->uses.front().op) : Op();
}

}  // namespace halfstep::passes
