#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

/// Programs use output names for inputs and results, so output names of a graph's body must be unique. A region may
/// yield a value twice.
void check_output_names(const Graph& graph, const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) fail(errors::output_named_twice(graph.name(), name));
  }
}

}  // namespace

std::vector<Op> Block::ops(size_t first) const {
  return {std::prev(ops_.end(), std::ssize(ops_) - static_cast<std::ptrdiff_t>(first)), ops_.end()};
}

Op Block::next(Op op) const {
  const auto next = op ? std::next(op.node()->place) : ops_.begin();
  return next == ops_.end() ? Op() : Op(*next);
}

std::vector<Value> Block::outputs() const {
  return return_ == nullptr ? std::vector<Value>() : Op(return_.get()).operands();
}

bool Block::returns(Value value) const {
  return std::ranges::any_of(value.node()->uses, [&](const detail::Use& use) { return use.op == return_.get(); });
}

void Block::set_outputs(std::vector<Value> values, std::vector<std::string> names) {
  HS_CHECK(std::all_of(values.begin(), values.end(), [](Value value) { return static_cast<bool>(value); }));
  HS_CHECK(names.empty() || names.size() == values.size());
  if (names.empty()) {
    for (const Value value : values) names.push_back(value.name());
  }
  if (parent_ == nullptr) check_output_names(*graph_, names);
  if (return_ == nullptr) {
    return_ = std::make_unique<detail::OpNode>();
    return_->info = &detail::return_info();
    return_->name = "return";
    return_->block = this;
  }
  std::vector<detail::ValueNode*>& operands = return_->operands;
  for (size_t i = 0; i < operands.size(); ++i) detail::drop_use(operands[i], return_.get(), static_cast<int>(i));
  operands.clear();
  for (const Value value : values) {
    detail::add_use(value.node(), return_.get(), static_cast<int>(operands.size()));
    operands.push_back(value.node());
  }
  output_names_ = std::move(names);
  named_outputs_ = {output_names_.begin(), output_names_.end()};
}

Value Block::add_argument(std::string name, Type type) {
  if (graph_->value(name) || graph_->op(name))
    fail(errors::name_taken(fmt::format("graph '{}'", graph_->name()), name));
  detail::ValueNode* node = graph_->new_value(std::move(name), std::move(type));
  node->owner = this;
  graph_->value_names_.emplace(node->name, node);
  return arguments_.emplace_back(node);
}

}  // namespace halfstep
