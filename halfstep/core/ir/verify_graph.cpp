#include "halfstep/core/ir/verify_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), graph_where_(fmt::format("graph '{}'", graph.name())) {}

  void run() {
    if (graph_.name().empty()) fail(errors::graph_names(graph_where_, "an empty name", "a name"));
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
  std::string path_;                                      ///< path_to the operation being checked
  std::unordered_set<const detail::ValueNode*> visible_;  ///< values visible at the position being checked
  std::unordered_map<const detail::ValueNode*, size_t> reads_;
};

void Verifier::collect(const Block& block) {
  for (const Op op : block.ops()) {
    if (!nodes_.insert(op.node()).second)
      fail(errors::graph_blocks(op.where(), "an operation that is listed twice", "one place"));
    for (const auto& region : op.regions()) collect(*region);
  }
  if (const Op end = block.return_op()) nodes_.insert(end.node());
}

void Verifier::check_block(const Block& block) {
  const Op holder = block.parent();
  const std::string where = holder ? detail::where_at(path_, holder) : graph_where_;
  const std::string outer = path_;
  if (holder) path_ += fmt::format("{} '{}': ", holder.info().name, holder.name());
  const auto around = std::exchange(visible_, {});  // a region sees only its arguments, its own values, and tensors
  for (const Value argument : block.arguments()) {
    if (argument.node()->owner != &block)
      fail(errors::graph_blocks(where, fmt::format("argument '{}' of another block", argument.name()), "its own"));
    define(where, argument);
  }
  for (const Op op : block.ops()) {
    if (op.node()->block != &block) fail(errors::graph_blocks(op.where(), "an operation of another block", "its own"));
    check_op(op);
  }
  if (const Op end = block.return_op()) check_operands(where + ": return", *end.node());
  visible_ = around;
  path_ = outer;
}

void Verifier::check_op(Op op) {
  const std::string where = detail::where_at(path_, op);
  const OpInfo& info = op.info();
  if (op.name().empty() || graph_.op(op.name()) != op)
    fail(errors::graph_names(where, fmt::format("the name '{}'", op.name()), "the name of one operation"));
  check_operands(where, *op.node());
  if (!detail::same(op.attributes(), complete_attributes(info, op.attributes(), where)))
    fail(errors::graph_attributes(where, info.name, op.attributes().size(), info.attributes.size()));
  if (op.regions().size() != info.regions.size())
    fail(errors::region_count(where, info.name, op.regions().size(), info.regions.size()));
  for (const auto& region : op.regions()) check_block(*region);
  check_results(where, op, detail::result_types(op));
}

void Verifier::check_operands(const std::string& where, const detail::OpNode& node) {
  for (const detail::ValueNode* operand : node.operands) {
    if (operand == nullptr) continue;
    if (operand->role ? graph_.tensor(operand->name).node() != operand : !visible_.contains(operand))
      fail(errors::value_not_defined(where, operand->name));
    ++reads_[operand];
  }
}

void Verifier::check_results(const std::string& where, Op op, const std::vector<Type>& types) {
  const std::vector<detail::ValueNode*>& results = op.node()->results;
  if (results.size() != types.size())
    fail(errors::graph_outputs(where, fmt::format("{} outputs", results.size()), types.size()));
  for (size_t port = 0; port < types.size(); ++port) {
    const detail::ValueNode* result = results[port];
    const std::string& name = op.info().output_at(static_cast<int>(port)).name;
    if (op.info().has_output(static_cast<int>(port), op.attributes()) != (result != nullptr))
      fail(errors::graph_outputs(where, fmt::format("{} output '{}'", result == nullptr ? "no" : "an", name),
                                 result == nullptr ? "one" : "none"));
    if (result == nullptr) continue;
    if (result->producer != op.node() || result->port != static_cast<int>(port) ||
        result->name != detail::result_name(op.info(), op.name(), port))
      fail(errors::graph_outputs(where, fmt::format("value '{}' as output '{}'", result->name, name), "its own value"));
    if (result->type != types[port])
      fail(errors::graph_outputs(where, fmt::format("output '{}' of type {}", name, to_string(result->type)),
                                 to_string(types[port])));
    define(where, op.out(static_cast<int>(port)));
  }
}

void Verifier::define(const std::string& where, Value value) {
  if (graph_.value(value.name()) != value)
    fail(errors::graph_names(where, fmt::format("the name '{}'", value.name()), "the name of one value"));
  check_value(where, value);
  visible_.insert(value.node());
}

void Verifier::check_value(const std::string& where, Value value) const {
  if (value.name().empty()) fail(errors::graph_names(where, "a value without a name", "a name"));
  if (std::any_of(value.dims().begin(), value.dims().end(), [](int64_t extent) { return extent < kUnknown; }))
    fail(errors::negative_extent(where, value.name(), to_string(value.type())));
}

/// Checks that the uses listed by a value are exactly the uses by operations, each once, and that the count of updates
/// is correct.
void Verifier::check_uses(Value value) const {
  const std::vector<detail::Use>& uses = value.node()->uses;
  for (const detail::Use& use : uses) {
    if (!nodes_.contains(use.op))
      fail(errors::graph_uses(graph_where_, value.name(), "a use by an operation that is not in it", "its own"));
    if (use.op->operands.at(static_cast<size_t>(use.operand)) != value.node())
      fail(errors::graph_uses(Op(use.op).where(), value.name(), "a use of another value", "its own"));
  }
  const auto found = reads_.find(value.node());
  const size_t reads = found == reads_.end() ? 0 : found->second;
  if (uses.size() != reads)
    fail(errors::graph_uses(graph_where_, value.name(), fmt::format("{} uses", uses.size()), reads));
  const auto is_update = [](const detail::Use& use) { return detail::is_update(*use.op, use.operand); };
  if (std::ranges::count_if(uses, is_update) != value.node()->updates)
    fail(errors::graph_uses(graph_where_, value.name(), fmt::format("{} updates", value.node()->updates),
                            std::ranges::count_if(uses, is_update)));
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
