#include "halfstep/passes/graph/prune_regions.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "halfstep/core/ir/flow.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Nodes = std::set<const detail::ValueNode*>;

/// Returns the values that `values` and updates of tensors are computed from.
Nodes sources(const Block& block, const std::vector<Value>& values) {
  Nodes needed;
  for (const Value value : values) needed.insert(value.node());
  const std::vector<Op> ops = block.ops();
  for (const Op op : ops | std::views::reverse) {
    const std::vector<Value> results = op.results();
    const auto is_needed = [&](Value result) { return needed.contains(result.node()); };
    if (!has_effect(op) && std::ranges::none_of(results, is_needed)) continue;
    for (const Value operand : op.operands()) needed.insert(operand.node());
  }
  return needed;
}

/// Decides which values and results of one operation are kept, and builds the operation without the others.
class Pruning {
 public:
  Pruning(Graph& graph, Op op) : graph_(graph), op_(op), parts_(op) {
    for (const Value result : op.results()) outputs_.push_back(!result.unused());
    keep_states();
    keep_values();
  }

  bool changes() const {
    return std::ranges::count(passed_on_, true) > 0 || std::ranges::count(outputs_, false) > 0 ||
           std::ranges::count(values_, false) > 0;
  }

  void run() {
    for (size_t r = 0; r < op_.regions().size(); ++r) {
      const Block& region = *op_.regions()[r];
      op_.regions()[r]->set_outputs(kept_outputs(region));
      dce(graph_, region);
    }
    const Op made = graph_.insert(spec(), nullptr, op_);
    for (const auto& region : op_.regions()) move(*region, graph_.add_region(made));
    made.close_regions();
    int port = 0;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Value result = op_.out(static_cast<int>(i));
      if (is_passed_on(i)) result.replace_all_uses_with(operand(i));
      if (!is_passed_on(i) && outputs_[i]) result.replace_all_uses_with(made.out(port++));
    }
    const std::string name = op_.name();
    graph_.erase(op_);
    graph_.rename(made, name);
  }

 private:
  Value operand(size_t i) const { return op_.operands()[parts_.first + i]; }
  bool is_passed_on(size_t i) const { return i < passed_on_.size() && passed_on_[i]; }
  bool iterates() const { return op_.info().flow == Flow::loop || op_.info().flow == Flow::scan; }

  /// For an operation that iterates: the condition, then the kept outputs.
  std::vector<Value> kept_outputs(const Block& region) const {
    const std::vector<Value> all = region.outputs();
    std::vector<Value> kept(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(parts_.conditions));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] && !is_passed_on(i)) kept.push_back(all[parts_.conditions + i]);
    }
    return kept;
  }

  /// Keeps states whose results are read, and states that the condition, other states or stacked results need.
  void keep_states() {
    if (!iterates()) return;
    const Block& region = *op_.regions()[0];
    const std::vector<Value> outputs = region.outputs();
    for (size_t i = 0; i < parts_.states; ++i) {
      const Value argument = region.arguments()[i], result = op_.out(static_cast<int>(i));
      const bool is_known_outside = !op_.node()->block->parent() && is_output(result);
      passed_on_.push_back(outputs[parts_.conditions + i] == argument && operand(i).type() == argument.type() &&
                           !is_known_outside);
    }
    for (bool changed = true; changed;) {
      changed = false;
      const Nodes needed = sources(region, kept_outputs(region));
      for (size_t i = 0; i < parts_.states; ++i) {
        if (outputs_[i] || !needed.contains(region.arguments()[i].node())) continue;
        outputs_[i] = changed = true;
      }
    }
  }

  void keep_values() {
    values_.assign(parts_.values(), false);
    for (const auto& region : op_.regions()) {
      const Nodes needed = sources(*region, kept_outputs(*region));
      for (size_t i = 0; i < values_.size(); ++i)
        values_[i] = values_[i] || needed.contains(region->arguments()[i].node());
    }
    for (size_t i = 0; i < parts_.states; ++i) values_[i] = is_passed_on(i) ? values_[i] : outputs_[i];
    const auto scanned = values_.begin() + static_cast<std::ptrdiff_t>(parts_.states);
    const auto end = scanned + static_cast<std::ptrdiff_t>(parts_.scanned);
    if (scanned != end && std::find(scanned, end, true) == end) *scanned = true;  // sets the number of iterations
  }

  /// Kept values in their new order. States that are passed on are captured.
  std::vector<size_t> order() const {
    std::vector<size_t> kept, captured;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) (is_passed_on(i) ? captured : kept).push_back(i);
    }
    kept.insert(kept.end(), captured.begin(), captured.end());
    return kept;
  }

  OpSpec spec() const {
    OpSpec spec{&op_.info(), {}, op_.attributes(), op_.name(), op_.location()};
    for (size_t i = 0; i < parts_.first; ++i) spec.operands.push_back(op_.in(static_cast<int>(i)));
    int64_t states = 0, scanned = 0;
    for (const size_t i : order()) {
      spec.operands.push_back(operand(i));
      states += i < parts_.states && !is_passed_on(i) ? 1 : 0;
      scanned += i >= parts_.states && i < parts_.states + parts_.scanned ? 1 : 0;
    }
    if (iterates()) spec.attributes["states"] = states;
    if (parts_.scanned > 0) spec.attributes["scanned"] = scanned;
    return spec;
  }

  void move(Block& from, Block& to) const {
    for (const size_t i : order()) {
      const Value argument = from.arguments()[i];
      argument.replace_all_uses_with(to.add_argument(graph_.unique_name(argument.name()), argument.type()));
    }
    to.set_outputs(from.outputs());
    from.set_outputs({});
    for (const Op op : from.ops()) graph_.move(op, to);
  }

  Graph& graph_;
  Op op_;
  FlowParts parts_;
  std::vector<bool> outputs_;    ///< whether an output of the regions after the condition is kept
  std::vector<bool> passed_on_;  ///< states that each iteration returns unchanged
  std::vector<bool> values_;     ///< whether a value is kept
};

/// Returns whether anything changed.
bool prune_op(Graph& graph, Op op) {
  Pruning pruning(graph, op);
  if (!pruning.changes()) return false;
  pruning.run();
  return true;
}

/// Visits enclosing operations first, because they read the results of inner ones. Returns whether anything changed.
bool prune(Graph& graph, const Block& block) {
  bool changed = false;
  for (const Op op : block.ops()) {
    if (op.info().flow == Flow::none) continue;
    const std::string name = op.name();
    const bool is_back = op.info().flow == Flow::backward;  // its builder leaves nothing unused
    if (!is_back && prune_op(graph, op)) changed = true;
    for (const auto& region : graph.op(name).regions()) changed = prune(graph, *region) || changed;
  }
  return changed;
}

}  // namespace

void prune_regions(Graph& graph) {
  while (prune(graph, graph.body())) continue;
}

}  // namespace halfstep::passes
