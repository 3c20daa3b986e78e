#include "halfstep/passes/gradient/handed_tensors.h"

#include <algorithm>
#include <map>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Values = std::vector<Value>;

void insert(Values& values, size_t place, const Values& more) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(place), more.begin(), more.end());
}

class Handing {
 public:
  Handing(Graph& graph, const Values& tensors) : graph_(graph), tensors_(tensors) {}

  /// Returns the contents of the tensors at the end of a block, by position.
  Values run(const Block& block) {
    Values now = tensors_;
    for (const Op op : block.ops()) {
      if (!op.regions().empty()) {
        rewrite(op, now);
        continue;
      }
      for (const Value result : op.results()) {
        const int state = op.info().output_at(result.port()).state_of;
        const auto found = state < 0 ? tensors_.end() : std::ranges::find(tensors_, op.in(state));
        if (found != tensors_.end()) now[static_cast<size_t>(found - tensors_.begin())] = result;
      }
    }
    return now;
  }

 private:
  void rewrite(Op op, Values& now) {
    std::vector<size_t> inside;  // positions of tensors in the regions of `op`
    const Values read = reads(op);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (std::ranges::find(read, tensors_[i]) != read.end()) inside.push_back(i);
    }
    if (inside.empty()) return;
    const FlowParts parts(op);
    const bool iterates = op.info().attribute("states") != nullptr;
    const size_t place = iterates ? parts.states : parts.values();
    const size_t place_of_results = iterates ? parts.states : op.results().size();

    OpSpec spec{&op.info(), op.operands(), op.attributes(), op.name(), op.location()};
    insert(spec.operands, parts.first + place, at(now, inside));
    if (iterates) spec.attributes["states"] = static_cast<int64_t>(parts.states + inside.size());
    const Op made = graph_.insert(std::move(spec), nullptr, op);
    for (const auto& region : op.regions())
      copy(*region, graph_.add_region(made), inside, place, parts.conditions + place_of_results);
    made.close_regions();

    for (const Value result : op.results()) {
      const auto port = static_cast<size_t>(result.port());
      result.replace_all_uses_with(made.results()[port < place_of_results ? port : port + inside.size()]);
    }
    for (size_t i = 0; i < inside.size(); ++i) now[inside[i]] = made.results()[place_of_results + i];
    graph_.erase(op);
    graph_.rename(made, op.name());
  }

  void copy(const Block& from, Block& to, const std::vector<size_t>& inside, size_t place, size_t place_of_outputs) {
    const Values finals = run(from);
    Values arguments = from.arguments(), outputs = from.outputs();
    insert(arguments, place, at(tensors_, inside));
    insert(outputs, place_of_outputs, at(finals, inside));
    std::map<const detail::ValueNode*, Value> stand_ins;
    for (const Value value : arguments)
      stand_ins.emplace(value.node(), to.add_argument(graph_.unique_name(value.name()), value.type()));
    const auto stand_in = [&](Value value) {
      const auto found = stand_ins.find(value.node());
      return found == stand_ins.end() ? value : found->second;
    };
    copy_into(from, to, stand_in, outputs);
  }

  static Values at(const Values& values, const std::vector<size_t>& positions) {
    Values found;
    for (const size_t position : positions) found.push_back(values[position]);
    return found;
  }

  Graph& graph_;
  const Values tensors_;
};

}  // namespace

std::vector<Value> hand_through(Graph& graph, const std::vector<Value>& tensors) {
  return tensors.empty() ? tensors : Handing(graph, tensors).run(graph.body());
}

}  // namespace halfstep::passes
