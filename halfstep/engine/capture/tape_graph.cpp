#include "halfstep/engine/capture/tape_graph.h"

#include <algorithm>
#include <unordered_map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {
namespace {

using Node = const detail::ValueNode*;

/// The forward part: the operations of all steps in order. The result of an operation that gradients do not pass
/// becomes an argument.
class Forward {
 public:
  explicit Forward(const Tape& tape) : tape_(tape) {
    for (size_t i = 0; i < tape.leaves.size(); ++i) {
      const Tape::Leaf& leaf = tape.leaves[i];
      leaves_.push_back(add_argument("leaf", leaf.type, {Source::Kind::leaf, i, 0, {}, leaf.place}));
    }
    for (size_t i = 0; i < tape.steps.size(); ++i) add(i);
  }

  Model& model() { return model_; }
  Value value(Origin origin) const {
    return origin.step < 0 ? leaves_[origin.index] : outputs_[static_cast<size_t>(origin.step)][origin.index];
  }
  /// Where a value of the graph comes from at run time.
  const Source& source(Value value) const { return sources_.at(value.node()); }
  bool has(Value value) const { return sources_.contains(value.node()); }
  Value add_argument(const std::string& hint, const Type& type, Source source) {
    const Value made = model_.graph.add_argument(model_.graph.unique_name(hint), type);
    sources_.emplace(made.node(), std::move(source));
    return made;
  }

 private:
  void add(size_t step) {
    const Recorded& what = *tape_.steps[step].what;
    const Graph& graph = what.graph();
    std::unordered_map<Node, Value> stand_ins;
    for (size_t i = 0; i < graph.arguments().size(); ++i)
      stand_ins.emplace(graph.arguments()[i].node(), value(tape_.steps[step].inputs[i]));
    const auto stand_in = [&](Value value) {
      Value& made = stand_ins[value.node()];
      if (!made) made = passes::add_tensor(model_, value.name(), what.model().tensors.at(value.name()), Role::constant);
      return made;
    };
    std::vector<Value> all;
    for (const Op op : graph.ops()) {
      for (const Value result : op.results()) all.push_back(result);
    }
    copy_into(graph.body(), model_.graph.body(), stand_in, all);
    std::vector<Value> made = model_.graph.outputs();
    model_.graph.set_outputs({});
    const std::vector<Value> outputs = graph.outputs();
    std::vector<Value>& mine = outputs_.emplace_back(outputs.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto output = std::ranges::find(outputs, all[i]);
      const auto place = static_cast<size_t>(output - outputs.begin());
      Source source = output == outputs.end() ? Source{Source::Kind::saved, step, 0, all[i].name()}
                                              : Source{Source::Kind::result, step, place, {}, what.places().out[place]};
      if (what.apart().contains(all[i].producer().name())) {
        const Value given = add_argument("apart", made[i].type(), source);
        made[i].replace_all_uses_with(given);
        made[i] = given;
      }
      sources_.insert_or_assign(made[i].node(), std::move(source));
      if (output != outputs.end()) mine[place] = made[i];
    }
  }

  const Tape& tape_;
  Model model_;
  std::vector<Value> leaves_;
  std::vector<std::vector<Value>> outputs_;
  std::unordered_map<Node, Source> sources_;
};

/// Separates the operations after the first `count`. The forward values that they read become arguments.
void cut_forward(Forward& forward, size_t count) {
  const std::vector<Op> ops = forward.model().graph.ops();
  std::unordered_map<Node, Value> given;
  for (size_t i = count; i < ops.size(); ++i) {
    const std::vector<Value> operands = ops[i].operands();
    for (size_t k = 0; k < operands.size(); ++k) {
      const Value operand = operands[k];
      if (!operand || !operand.producer() || !forward.has(operand)) continue;
      Value& made = given[operand.node()];
      if (!made) made = forward.add_argument("forward", operand.type(), forward.source(operand));
      ops[i].set_operand(static_cast<int>(k), made);
    }
  }
}

/// Copies a seed or forward value that is itself a gradient, so that every gradient is a new value.
void copy_what_is_given(Forward& forward, std::vector<Value>& gradients) {
  for (Value& gradient : gradients) {
    if (!gradient || (gradient.producer() && !forward.has(gradient))) continue;
    gradient = Builder(forward.model().graph).insert({&ops::Identity::record(), {gradient}, {}, "gradient", {}}).out(0);
  }
}

/// The operations after the first `count` as a graph of their own.
std::shared_ptr<const Recorded> backward_part(Forward& forward, size_t count, const std::vector<Value>& outputs,
                                              std::vector<Place> out, std::vector<Source>& sources) {
  Graph& from = forward.model().graph;
  cut_forward(forward, count);
  const std::vector<Op> ops = from.ops();
  for (size_t i = count; i-- > 0;) from.erase(ops[i]);
  Model model;
  model.graph.set_name("gradients");
  Recorded::Places places{{}, std::move(out)};
  std::unordered_map<Node, Value> stand_ins;
  for (const Value argument : from.arguments()) {
    Value& made = stand_ins[argument.node()];
    if (argument.unused()) continue;
    made = model.graph.add_argument(argument.name(), argument.type());
    sources.push_back(forward.source(argument));
    places.in.push_back(sources.back().place);
  }
  const auto stand_in = [&](Value value) {
    Value& made = stand_ins[value.node()];
    if (!made && value.is_tensor())
      made = passes::add_tensor(model, value.name(), forward.model().tensors.at(value.name()), Role::constant);
    return made;
  };
  copy_into(from.body(), model.graph.body(), stand_in, outputs);
  return std::make_shared<const Recorded>(std::move(model), std::move(places));
}

}  // namespace

GradientGraph gradient_graph(const Tape& tape) {
  Forward forward(tape);
  const size_t count = forward.model().graph.ops().size();
  std::vector<passes::Seed> seeds;
  for (size_t i = 0; i < tape.of.size(); ++i) {
    const Value value = forward.value(tape.of[i]);
    const Place place = forward.has(value) ? forward.source(value).place : Place{};
    seeds.push_back({value, forward.add_argument("seed", value.type(), {Source::Kind::seed, i, 0, {}, place})});
  }
  std::vector<Value> wanted;
  for (size_t i = 0; i < tape.wanted; ++i) wanted.push_back(forward.value({-1, i}));
  std::vector<Value> gradients = passes::autodiff(forward.model(), seeds, wanted);
  copy_what_is_given(forward, gradients);
  GradientGraph result;
  std::vector<Value> outputs;
  std::vector<Place> out;
  for (size_t i = 0; i < gradients.size(); ++i) {
    result.found.push_back(gradients[i] ? std::optional(outputs.size()) : std::nullopt);
    if (!gradients[i]) continue;
    outputs.push_back(gradients[i]);
    out.push_back(tape.leaves[i].place);
  }
  result.recorded = backward_part(forward, count, outputs, std::move(out), result.sources);
  return result;
}

}  // namespace halfstep::capture
