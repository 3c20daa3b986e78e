#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

/// Returns `hint`, or a free name among `hint.2`, `hint.3`, ... whose predecessor is taken. Without gaps this is the
/// first free name. Needs few steps, because thousands of values may share a hint.
template <class Taken>
std::string first_free(const std::string& hint, Taken taken) {
  if (!taken(hint)) return hint;
  const auto name = [&](int64_t number) { return fmt::format("{}.{}", hint, number); };
  int64_t last = 1, free = 2;
  for (; taken(name(free)); free *= 2) last = free;
  while (free - last > 1) {
    const int64_t middle = last + (free - last) / 2;
    (taken(name(middle)) ? last : free) = middle;
  }
  return name(free);
}

template <class Map>
typename Map::mapped_type find(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

/// Whether another operation than `self` uses the name of the operation or of any of its possible results.
bool is_taken(const Graph& graph, const OpInfo& info, const std::string& name, Op self = {}) {
  if (const Op op = graph.op(name); op && op != self) return true;
  for (size_t port = 0; port < std::max<size_t>(info.outputs.size(), 1); ++port) {
    const Value value = graph.value(detail::result_name(info, name, port));
    if (value && (!self || value.producer() != self)) return true;
  }
  return false;
}

/// Checks that no operation reads the value.
void check_unused(const Value& value, const std::string& where) {
  if (!value.unused()) fail(errors::value_in_use(where, detail::describe_users(*value.node())));
}

}  // namespace

std::string detail::free_name(const Graph& graph, const OpInfo& info, const std::string& hint) {
  return first_free(
      hint, [&](const std::string& name) { return is_taken(graph, info, name) || graph.body().has_output(name); });
}

Graph::Graph(std::string name) : name_(std::move(name)), body_(std::make_unique<Block>(this, nullptr)) {}
Graph::~Graph() = default;

Graph::Graph(Graph&& other) noexcept { *this = std::move(other); }

Graph& Graph::operator=(Graph&& other) noexcept {
  if (this == &other) return *this;
  name_ = std::move(other.name_);
  body_ = std::move(other.body_);
  values_ = std::move(other.values_);
  nodes_ = std::move(other.nodes_);
  tensors_ = std::move(other.tensors_);
  value_names_ = std::move(other.value_names_);
  op_names_ = std::move(other.op_names_);
  own_blocks();
  return *this;
}

void Graph::own_blocks() {
  body_->graph_ = this;
  for (const auto& node : nodes_) {
    for (const auto& region : node->regions) region->graph_ = this;
  }
}

detail::ValueNode* Graph::new_value(std::string name, Type type) {
  auto node = std::make_unique<detail::ValueNode>();
  node->name = std::move(name);
  node->type = std::move(type);
  return values_.emplace_back(std::move(node)).get();
}

Value Graph::add_tensor(const std::string& name, Type type, Role role) {
  if (tensor(name)) fail(errors::tensor_declared_twice(name_, name));
  detail::ValueNode* node = new_value(name, std::move(type));
  node->role = role;
  tensors_.emplace(name, node);
  return Value(node);
}

Value Graph::tensor(std::string_view name) const { return Value(find(tensors_, name)); }
Value Graph::value(std::string_view name) const { return Value(find(value_names_, name)); }
Op Graph::op(std::string_view name) const { return Op(find(op_names_, name)); }

namespace {

void collect_ops(const Block& block, std::vector<Op>& ops) {
  for (const Op op : block.ops()) {
    ops.push_back(op);
    for (const auto& region : op.regions()) collect_ops(*region, ops);
  }
}

}  // namespace

std::vector<Op> Graph::all_ops() const {
  std::vector<Op> ops;
  collect_ops(*body_, ops);
  return ops;
}

std::vector<Value> Graph::tensors() const {
  std::vector<Value> all;
  for (const auto& [name, node] : tensors_) all.emplace_back(node);
  return all;
}

void Graph::erase_tensor(std::string_view name) {
  const auto found = tensors_.find(name);
  HS_CHECK(found != tensors_.end());
  check_unused(Value(found->second), fmt::format("graph '{}': tensor '{}'", name_, name));
  tensors_.erase(found);
}

void Graph::set_type(Value tensor_or_argument, Type type) {
  HS_CHECK(!tensor_or_argument.producer());
  tensor_or_argument.node()->type = std::move(type);
}

std::string Graph::unique_name(const std::string& hint) const {
  return first_free(hint, [&](const std::string& name) { return value(name) || op(name) || body_->has_output(name); });
}

void Graph::make_results(detail::OpNode& node, const std::vector<Type>& types) {
  node.results.resize(node.info->flow == Flow::none ? node.info->outputs.size() : types.size());
  for (size_t port = 0; port < node.results.size(); ++port) {
    detail::ValueNode*& result = node.results[port];
    if (!node.info->has_output(static_cast<int>(port), node.attributes)) {
      if (result != nullptr) value_names_.erase(result->name);
      result = nullptr;
    } else if (result != nullptr) {
      result->type = types[port];
    } else {
      result = new_value(detail::result_name(*node.info, node.name, port), types[port]);
      result->producer = &node;
      result->port = static_cast<int>(port);
      if (!value_names_.emplace(result->name, result).second)
        fail(errors::name_taken(fmt::format("node '{}'", node.name), result->name));
    }
  }
}

Op Graph::insert(OpSpec spec, Block* block, Op before) {
  const OpInfo& info = *spec.info;
  const std::string hint = spec.name.empty() ? info.name : spec.name;
  auto node = std::make_unique<detail::OpNode>();
  node->info = &info;
  node->name = detail::free_name(*this, info, hint);
  node->location = std::move(spec.location);
  const std::string where = detail::describe(node->location, node->name);
  node->attributes = complete_attributes(info, std::move(spec.attributes), where);
  for (const Value operand : spec.operands) {
    HS_CHECK(!operand || (operand.is_tensor() ? tensor(operand.name()) : value(operand.name())) == operand);
    node->operands.push_back(operand.node());
  }
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  if (node->operands.size() < fixed) node->operands.resize(fixed);
  const std::vector<Type> types = detail::check_site(info, node->operands, node->attributes, where);

  detail::OpNode* made = nodes_.emplace_back(std::move(node)).get();
  op_names_.emplace(made->name, made);
  for (size_t i = 0; i < made->operands.size(); ++i) detail::add_use(made->operands[i], made, static_cast<int>(i));
  make_results(*made, types);
  made->block = before ? before.node()->block : block != nullptr ? block : body_.get();
  std::list<detail::OpNode*>& order = made->block->ops_;
  made->place = order.insert(before ? before.node()->place : order.end(), made);
  return Op(made);
}

/// Erased nodes stay allocated as long as the graph exists, so that handles in a snapshot do not dangle.
void Graph::erase(Op op) {
  for (const Value result : op.results()) check_unused(result, op.where());
  detail::OpNode* node = op.node();
  for (const auto& region : node->regions) {
    region->set_outputs({});
    for (detail::OpNode* inner : std::vector(region->ops_.rbegin(), region->ops_.rend())) erase(Op(inner));
    for (const Value argument : region->arguments()) value_names_.erase(argument.name());
  }
  node->regions.clear();
  for (size_t i = 0; i < node->operands.size(); ++i) op.set_operand(static_cast<int>(i), Value());
  for (const Value result : op.results()) value_names_.erase(result.name());
  op_names_.erase(node->name);
  node->block->ops_.erase(node->place);
  node->block = nullptr;
}

void Graph::move(Op op, Block& to) {
  to.ops_.splice(to.ops_.end(), op.node()->block->ops_, op.node()->place);
  op.node()->block = &to;
}

void Graph::rename(Op op, const std::string& name) {
  if (is_taken(*this, op.info(), name, op)) fail(errors::name_taken(op.where(), name));
  op_names_.erase(op.name());
  for (const Value result : op.results()) value_names_.erase(result.name());
  op.node()->name = name;
  op_names_.emplace(name, op.node());
  for (const Value result : op.results()) {
    result.node()->name = detail::result_name(op.info(), name, static_cast<size_t>(result.port()));
    value_names_.emplace(result.name(), result.node());
  }
}

void Graph::rename(Value argument, const std::string& name) {
  HS_CHECK(!argument.is_tensor() && !argument.producer());
  if (value_names_.contains(name))
    fail(errors::name_taken(fmt::format("graph '{}': argument '{}'", name_, argument.name()), name));
  value_names_.erase(argument.name());
  argument.node()->name = name;
  value_names_.emplace(name, argument.node());
}

Block& Graph::add_region(Op op) {
  HS_CHECK(op.regions().size() < op.info().regions.size());
  return *op.node()->regions.emplace_back(std::make_unique<Block>(this, op.node()));
}

void Graph::exchange_body(Op holder, size_t region) { std::swap(body_, holder.node()->regions.at(region)); }

Builder Builder::before(Graph& graph, Op op) {
  Builder builder(graph);
  builder.block_ = op.node()->block;
  builder.before_ = op;
  return builder;
}

Builder& Builder::at(Location location) {
  location_ = std::move(location);
  return *this;
}

Op Builder::insert(OpSpec spec) {
  if (spec.location.file.empty()) spec.location = location_;
  return graph_->insert(std::move(spec), block_, before_);
}

GivenAttribute::GivenAttribute(std::string_view name, const bool& value) : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const int64_t& value) : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const double& value) : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const std::string& value) : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const std::vector<int64_t>& value)
    : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const std::vector<double>& value) : name_(name), value_(&value) {}
GivenAttribute::GivenAttribute(std::string_view name, const std::vector<std::string>& value)
    : name_(name), value_(&value) {}

Attribute GivenAttribute::value() const {
  return std::visit([](const auto* value) { return Attribute(*value); }, value_);
}

Op Builder::insert(const OpInfo& info, std::initializer_list<Value> operands,
                   std::initializer_list<GivenAttribute> attributes, const std::string& name,
                   const std::vector<Value>& rest) {
  OpSpec spec{&info, operands, {}, name, {}};
  spec.operands.insert(spec.operands.end(), rest.begin(), rest.end());
  for (const GivenAttribute& attribute : attributes) spec.attributes.emplace(attribute.name(), attribute.value());
  return insert(std::move(spec));
}

}  // namespace halfstep
