#include "halfstep/engine/capture/tape.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/tape_graph.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {
namespace {

using Steps = std::vector<std::shared_ptr<const Step>>;

/// All steps that the arrays were computed by, in execution order.
Steps steps_behind(std::span<const Array> of) {
  std::map<uint64_t, std::shared_ptr<const Step>> found;
  std::vector<std::shared_ptr<const Step>> open;
  const auto visit = [&](const Content& content) {
    if (content.producer != nullptr && found.emplace(content.producer->order, content.producer).second)
      open.push_back(content.producer);
  };
  for (const Array& array : of) visit(*array.content());
  while (!open.empty()) {
    const std::shared_ptr<const Step> step = open.back();
    open.pop_back();
    for (const ContentPtr& input : step->inputs) visit(*input);
  }
  Steps steps;
  for (auto& [order, step] : found) steps.push_back(std::move(step));
  return steps;
}

/// A tape with the contents that its numbers refer to.
struct Collected {
  Tape tape;
  Steps steps;
  std::vector<ContentPtr> leaves = {};
  std::unordered_map<const Content*, size_t> leaf_numbers = {};
  std::unordered_map<const Step*, int> step_numbers = {};

  void add_leaf(const ContentPtr& content) {
    if (!leaf_numbers.emplace(content.get(), leaves.size()).second) return;
    leaves.push_back(content);
    tape.leaves.push_back({content->type, content->place});
  }

  /// A content that is already a leaf ends the path, whatever it was computed by.
  Origin origin_of(const ContentPtr& content) {
    if (const auto known = leaf_numbers.find(content.get()); known != leaf_numbers.end()) return {-1, known->second};
    if (const auto known = step_numbers.find(content->producer.get()); known != step_numbers.end())
      return {known->second, content->port};
    add_leaf(content);
    return {-1, leaves.size() - 1};
  }
};

Collected collect(std::span<const Array> of, std::span<const ContentPtr> wanted) {
  Collected all{{}, steps_behind(of)};
  for (const ContentPtr& content : wanted) all.add_leaf(content);
  all.tape.wanted = all.leaves.size();
  for (size_t i = 0; i < all.steps.size(); ++i) all.step_numbers.emplace(all.steps[i].get(), static_cast<int>(i));
  for (const auto& step : all.steps) {
    Tape::Entry entry{step->what, {}};
    for (const ContentPtr& input : step->inputs) entry.inputs.push_back(all.origin_of(input));
    all.tape.steps.push_back(std::move(entry));
  }
  for (const Array& array : of) all.tape.of.push_back(all.origin_of(array.content()));
  return all;
}

/// Cache of gradient graphs, most recently used first.
class Graphs {
 public:
  std::shared_ptr<const GradientGraph> of(const Tape& tape) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(graphs_, tape, &Known::tape);
    if (known != graphs_.end()) {
      graphs_.splice(graphs_.begin(), graphs_, known);
    } else {
      graphs_.push_front({tape, std::make_shared<const GradientGraph>(gradient_graph(tape))});
      if (graphs_.size() > kMost) graphs_.pop_back();
    }
    return graphs_.front().graph;
  }

 private:
  static constexpr size_t kMost = 64;
  struct Known {
    Tape tape;
    std::shared_ptr<const GradientGraph> graph;
  };
  std::mutex mutex_;
  std::list<Known> graphs_;
};

std::shared_ptr<const GradientGraph> graph_of(const Tape& tape) {
  static auto* graphs = new Graphs;  // calls may come while static objects are destroyed
  return graphs->of(tape);
}

/// Recomputed values of steps that kept none, by step number.
using Again = std::map<size_t, Step::Kept>;

Again compute_again(const Steps& steps, const std::vector<Source>& sources) {
  std::map<size_t, std::vector<std::string>> names;
  for (const Source& source : sources) {
    const bool is_of_step = source.kind == Source::Kind::result || source.kind == Source::Kind::saved;
    if (!is_of_step || steps[source.index]->kept) continue;
    std::vector<std::string>& inside = names[source.index];
    if (source.kind == Source::Kind::saved) inside.push_back(source.name);
  }
  Again again;
  for (const auto& [number, inside] : names) {
    const Step& step = *steps[number];
    std::vector<const Tensor*> inputs;
    for (const ContentPtr& input : step.inputs) inputs.push_back(&input->tensor);
    Step::Kept& kept = again[number];
    kept.outputs = step.what->run(inputs, inside);
    const size_t outputs = step.results.size();
    for (size_t i = 0; i < inside.size(); ++i) kept.inside.emplace(inside[i], kept.outputs[outputs + i]);
    kept.outputs.resize(outputs);
  }
  return again;
}

ContentPtr result_of(const std::shared_ptr<const Step>& step, size_t output, const Step::Kept& kept) {
  if (ContentPtr content = step->results[output].lock()) return content;
  const Tensor& tensor = kept.outputs[output];
  return std::make_shared<const Content>(
      Content{tensor.type(), step->what->places().out[output], tensor, step, output, is_float(tensor.dtype())});
}

Array argument(const Collected& all, const Source& source, std::span<const Array> seeds, const Again& again) {
  if (source.kind == Source::Kind::leaf) return Array(all.leaves[source.index]);
  if (source.kind == Source::Kind::seed) return seeds[source.index];
  const auto& step = all.steps[source.index];
  const Step::Kept& kept = step->kept ? *step->kept : again.at(source.index);
  if (source.kind == Source::Kind::result) return Array(result_of(step, source.output, kept));
  return Array(kept.inside.at(source.name), Place{});
}

/// Contents of parameters that the arrays were computed from, in the order in which they were first read.
std::vector<ContentPtr> leaves(std::span<const Array> of) {
  std::vector<ContentPtr> found;
  const auto add = [&](const ContentPtr& content) {
    if (content->leaf.lock() != nullptr && std::ranges::find(found, content) == found.end()) found.push_back(content);
  };
  for (const auto& step : steps_behind(of)) {
    for (const ContentPtr& input : step->inputs) add(input);
  }
  for (const Array& array : of) add(array.content());
  return found;
}

void check_not_inside(const Steps& steps, const std::vector<Source>& sources) {
  const auto inside = std::ranges::find(sources, Source::Kind::saved, &Source::kind);
  if (inside == sources.end()) return;
  fail(errors::second_gradient_through_captured(steps[inside->index]->what->graph().name()));
}

/// Within a trace, gradients can follow only its own steps.
void check_within(const Steps& steps) {
  const Trace* trace = Trace::current();
  if (trace == nullptr || steps.empty() || steps.front()->order > trace->began()) return;
  fail(errors::gradient_leaves_trace(trace->what(), steps.front()->what->graph().name()));
}

}  // namespace

std::vector<std::string> values_to_save(const Recorded& what, const std::vector<bool>& differentiable) {
  Tape tape;
  Tape::Entry entry{{std::shared_ptr<const Recorded>(), &what}, {}};
  const std::vector<Value>& arguments = what.graph().arguments();
  for (const bool wanted : {true, false}) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (differentiable[i] == wanted) tape.leaves.push_back({arguments[i].type(), what.places().in[i]});
    }
  }
  tape.wanted = static_cast<size_t>(std::ranges::count(differentiable, true));
  size_t next[] = {tape.wanted, 0};
  for (const bool wanted : differentiable) entry.inputs.push_back({-1, next[wanted ? 1 : 0]++});
  const std::vector<Value> outputs = what.graph().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_float(outputs[i].dtype())) tape.of.push_back({0, i});
  }
  tape.steps.push_back(std::move(entry));
  std::vector<std::string> names;
  for (const Source& source : gradient_graph(tape).sources) {
    if (source.kind == Source::Kind::saved) names.push_back(source.name);
  }
  return names;
}

Arrays gradients(std::span<const Array> of, std::span<const Array> seeds, std::span<const ContentPtr> wanted) {
  Collected all = collect(of, wanted);
  check_within(all.steps);
  note_all_extents();  // the gradient graph is made for these extents
  if (Trace* trace = Trace::current()) trace->take_gradients();
  const auto graph = graph_of(all.tape);
  if (switches().gradients) check_not_inside(all.steps, graph->sources);
  const Again again = compute_again(all.steps, graph->sources);
  Arrays inputs;
  for (const Source& source : graph->sources) inputs.push_back(argument(all, source, seeds, again));
  const Arrays found = graph->recorded->graph().outputs().empty() ? Arrays() : apply_recorded(graph->recorded, inputs);
  Arrays results;
  for (const ContentPtr& content : wanted) {
    const auto& output = graph->found[all.leaf_numbers.at(content.get())];
    results.push_back(output ? found[*output] : Array());
  }
  return results;
}

void backward(const Array& of, const Array& seed) {
  if (!of.is_differentiable()) fail(errors::gradient_of_constant(to_string(of.type())));
  if (!seed && count_elements(of.dims()) != 1) fail(errors::gradient_of_many_elements(to_string(of.type())));
  const std::vector<ContentPtr> wanted = leaves({&of, 1});
  const Switched without(without_gradients());
  const Array one = seed ? seed : full(of.type(), 1, of.place());
  const Arrays found = gradients({&of, 1}, {&one, 1}, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!found[i]) continue;
    Array leaf = wanted[i]->leaf.lock()->array();
    if (Array before = leaf.gradient())
      before.assign(apply("add", {before, found[i]}));
    else
      leaf.set_gradient(found[i]);
  }
}

}  // namespace halfstep::capture
