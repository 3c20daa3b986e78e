#include "halfstep/core/ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "halfstep/core/ir/detail.h"

namespace halfstep {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), graph_where_(fmt::format("graph '{}'", graph.name())) {}

  void run() {
    if (graph_.name().empty()) fail("{}: the name is empty", graph_where_);
    collect(graph_.body());
    for (const Value tensor : graph_.tensors()) check_value(graph_where_, tensor);
    check_block(graph_.body());
    for (const Value tensor : graph_.tensors()) check_uses(tensor);
    check_all_uses(graph_.body());
  }

 private:
  void collect(const Block& block);
  void check_block(const Block& block);
  void check_op(Op op);
  void check_operands(const std::string& where, const detail::OpNode& node);
  void check_results(const std::string& where, Op op, const std::vector<Type>& types);
  void check_value(const std::string& where, Value value) const;
  void define(const std::string& where, Value value);
  void check_uses(Value value) const;
  void check_all_uses(const Block& block) const;

  const Graph& graph_;
  const std::string graph_where_;
  std::unordered_set<const detail::OpNode*> nodes_;       ///< all operations and returns
  std::string path_;                                      ///< path_to what is being checked
  std::unordered_set<const detail::ValueNode*> visible_;  ///< at the place that is being checked
  std::unordered_map<const detail::ValueNode*, size_t> reads_;
};

void Verifier::collect(const Block& block) {
  for (const Op op : block.ops()) {
    if (!nodes_.insert(op.node()).second) fail("{}: the operation is listed twice", op.where());
    for (const auto& region : op.regions()) collect(*region);
  }
  if (const Op end = block.return_op()) nodes_.insert(end.node());
}

void Verifier::check_block(const Block& block) {
  const Op holder = block.parent();
  const std::string where = holder ? detail::where_at(path_, holder) : graph_where_;
  const std::string outer = path_;
  if (holder) path_ += fmt::format("{} '{}': ", holder.info().name, holder.name());
  const auto around = std::exchange(visible_, {});  // a region sees its arguments, what it makes, and tensors
  for (const Value argument : block.arguments()) {
    if (argument.node()->owner != &block) fail("{}: argument '{}' belongs to another block", where, argument.name());
    define(where, argument);
  }
  for (const Op op : block.ops()) {
    if (op.node()->block != &block) fail("{}: the operation belongs to another block", op.where());
    check_op(op);
  }
  if (const Op end = block.return_op()) check_operands(where + ": return", *end.node());
  visible_ = around;
  path_ = outer;
}

void Verifier::check_op(Op op) {
  const std::string where = detail::where_at(path_, op);
  const OpInfo& info = op.info();
  if (op.name().empty() || graph_.op(op.name()) != op) fail("{}: the name is not that of one operation", where);
  check_operands(where, *op.node());
  if (!detail::same(op.attributes(), complete_attributes(info, op.attributes(), where)))
    fail("{}: {}: found {} attributes, expected all {}", where, info.name, op.attributes().size(),
         info.attributes.size());
  if (op.regions().size() != info.regions.size())
    fail("{}: {}: found {} regions, expected {}", where, info.name, op.regions().size(), info.regions.size());
  for (const auto& region : op.regions()) check_block(*region);
  check_results(where, op, detail::result_types(op));
}

void Verifier::check_operands(const std::string& where, const detail::OpNode& node) {
  for (const detail::ValueNode* operand : node.operands) {
    if (operand == nullptr) continue;
    if (operand->role ? graph_.tensor(operand->name).node() != operand : !visible_.contains(operand))
      fail("{}: found '{}', expected a value that is defined before", where, operand->name);
    ++reads_[operand];
  }
}

void Verifier::check_results(const std::string& where, Op op, const std::vector<Type>& types) {
  const std::vector<detail::ValueNode*>& results = op.node()->results;
  if (results.size() != types.size()) fail("{}: found {} outputs, expected {}", where, results.size(), types.size());
  for (size_t port = 0; port < types.size(); ++port) {
    const detail::ValueNode* result = results[port];
    const std::string& name = op.info().output_at(static_cast<int>(port)).name;
    if (op.info().has_output(static_cast<int>(port), op.attributes()) != (result != nullptr))
      fail("{}: output '{}' is {}, expected the opposite", where, name, result == nullptr ? "absent" : "present");
    if (result == nullptr) continue;
    if (result->producer != op.node() || result->port != static_cast<int>(port) ||
        result->name != detail::result_name(op.info(), op.name(), port))
      fail("{}: output '{}' is not connected to its value '{}'", where, name, result->name);
    if (result->type != types[port])
      fail("{}: output '{}' has type {}, expected {}", where, name, to_string(result->type), to_string(types[port]));
    define(where, op.out(static_cast<int>(port)));
  }
}

void Verifier::define(const std::string& where, Value value) {
  if (graph_.value(value.name()) != value) fail("{}: the name '{}' is not that of one value", where, value.name());
  check_value(where, value);
  visible_.insert(value.node());
}

void Verifier::check_value(const std::string& where, Value value) const {
  if (value.name().empty()) fail("{}: found a value without a name", where);
  if (std::any_of(value.dims().begin(), value.dims().end(), [](int64_t extent) { return extent < kUnknown; }))
    fail("{}: '{}' has type {}, expected no negative extent", where, value.name(), to_string(value.type()));
}

/// The uses that a value lists are those that operations have, each once, and it counts those that update it.
void Verifier::check_uses(Value value) const {
  const std::vector<detail::Use>& uses = value.node()->uses;
  for (const detail::Use& use : uses) {
    if (!nodes_.contains(use.op))
      fail("{}: '{}' is used by an operation that is not in it", graph_where_, value.name());
    if (use.op->operands.at(static_cast<size_t>(use.operand)) != value.node())
      fail("{}: '{}' lists a use that is another's", Op(use.op).where(), value.name());
  }
  const auto found = reads_.find(value.node());
  const size_t reads = found == reads_.end() ? 0 : found->second;
  if (uses.size() != reads) fail("{}: '{}' lists {} uses, expected {}", graph_where_, value.name(), uses.size(), reads);
  const auto is_update = [](const detail::Use& use) { return detail::is_update(*use.op, use.operand); };
  if (std::ranges::count_if(uses, is_update) != value.node()->updates)
    fail("{}: '{}' counts {} updates of it", graph_where_, value.name(), value.node()->updates);
}

void Verifier::check_all_uses(const Block& block) const {
  for (const Value argument : block.arguments()) check_uses(argument);
  for (const Op op : block.ops()) {
    for (const Value result : op.results()) check_uses(result);
    for (const auto& region : op.regions()) check_all_uses(*region);
  }
}

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace halfstep
