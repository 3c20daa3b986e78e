#include <algorithm>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/flow.h"

namespace halfstep {
namespace {

size_t first_variadic(const OpInfo& info) { return info.inputs.size() - (info.has_variadic_input() ? 1 : 0); }

/// Checks that outputs removed by the new attributes are unused, and that names of added outputs are free.
void check_new_presence(const Graph& graph, const detail::OpNode& node, const Attributes& attributes,
                        const std::string& where) {
  for (size_t port = 0; port < node.results.size(); ++port) {
    const bool wanted = node.info->has_output(static_cast<int>(port), attributes);
    const detail::ValueNode* result = node.results[port];
    if (result != nullptr && !wanted && !result->uses.empty()) {
      fail(errors::output_is_read(where, node.info->name, node.info->outputs[port].name,
                                  node.info->absent_output_reason(static_cast<int>(port), attributes),
                                  detail::describe_users(*result)));
    }
    if (result == nullptr && wanted && graph.value(detail::result_name(*node.info, node.name, port)))
      fail(errors::name_taken(where, detail::result_name(*node.info, node.name, port)));
  }
}

}  // namespace

std::string detail::where_at(const std::string& path, Op op) {
  if (path.empty()) return describe(op.location(), op.name());
  const std::string place = to_string(op.location());
  return place + (place.empty() ? "" : ": ") + path + describe({}, op.name());
}

std::string Op::where() const { return detail::where_at(path_to(*this), *this); }

std::vector<Value> Op::variadic() const {
  const std::vector<Value> all = operands();
  return {all.begin() + static_cast<std::ptrdiff_t>(first_variadic(info())), all.end()};
}

std::vector<Value> Op::operands() const {
  std::vector<Value> values;
  for (detail::ValueNode* operand : node_->operands) values.emplace_back(operand);
  return values;
}

int Op::port_of(int operand) const { return std::min(operand, static_cast<int>(info().inputs.size()) - 1); }

std::vector<Value> Op::results() const {
  std::vector<Value> values;
  for (detail::ValueNode* result : node_->results) {
    if (result != nullptr) values.emplace_back(result);
  }
  return values;
}

void Op::set_operand(int operand, Value value) const {
  detail::ValueNode*& place = node_->operands.at(static_cast<size_t>(operand));
  detail::drop_use(place, node_, operand);
  place = value.node();
  detail::add_use(place, node_, operand);
}

void Op::set_attributes(const Attributes& changed) const {
  Attributes attributes = node_->attributes;
  for (const auto& [name, value] : changed) attributes.insert_or_assign(name, value);
  attributes = complete_attributes(info(), std::move(attributes), where());
  Graph& graph = node_->block->graph();
  check_new_presence(graph, *node_, attributes, where());
  const std::vector<Type> types = detail::check_site(info(), node_->operands, attributes, where());
  node_->attributes = std::move(attributes);
  graph.make_results(*node_, info().flow == Flow::none ? types : flow_results(*this));
}

void Op::infer() const {
  if (info().flow != Flow::none) infer_regions(*this);
  node_->block->graph().make_results(*node_, detail::result_types(*this));
}

void Op::close_regions() const {
  HS_CHECK(info().flow != Flow::none);
  node_->block->graph().make_results(*node_, detail::result_types(*this));
}

void Op::add_operand(Value value) const {
  HS_CHECK(info().has_variadic_input());
  node_->operands.push_back(nullptr);
  set_operand(static_cast<int>(node_->operands.size()) - 1, value);
}

}  // namespace halfstep
