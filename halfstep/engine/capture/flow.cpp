#include "halfstep/engine/capture/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/tracing.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {
namespace {

/// A traced region. Its graph takes the arguments, then the captured values.
struct Region {
  Model model;
  Arrays captured;
};

/// Gives each result its own value of the region, so that no value is an output twice.
void set_outputs(Trace& trace, const Arrays& results) {
  Graph& graph = trace.model().graph;
  std::vector<Value> outputs;
  for (const Array& result : results) {
    Value value = trace.value_of(result);
    if (!value.producer() || std::ranges::find(outputs, value) != outputs.end())
      value = Builder(graph).insert({&ops::Identity::record(), {value}, {}, "identity", here()}).out(0);
    outputs.push_back(value);
  }
  graph.set_outputs(std::move(outputs));
}

Region traced(const std::string& what, const Arrays& operands, const Body& body) {
  Trace trace(Trace::Kind::region, what);
  Arrays arguments;
  for (const Array& operand : operands) arguments.push_back(trace.argument(operand));
  const Arrays results = body(arguments);
  set_outputs(trace, results);
  Region region{std::move(trace.model()), {}};
  region.captured.assign(trace.arguments().begin() + static_cast<std::ptrdiff_t>(operands.size()),
                         trace.arguments().end());
  region.model.graph.set_name(what);
  return region;
}

/// Returns `region` with arguments for all captured arrays `all`, which include its own.
Graph taking(const Region& region, size_t operands, const Arrays& all) {
  Graph graph(region.model.graph.name());
  std::unordered_map<const detail::ValueNode*, Value> values;
  const std::vector<Value>& arguments = region.model.graph.arguments();
  for (size_t i = 0; i < operands; ++i)
    values.emplace(arguments[i].node(), graph.add_argument(graph.unique_name("x"), arguments[i].type()));
  for (const Array& array : all) {
    const Value made = graph.add_argument(graph.unique_name("x"), array.type());
    const auto same = [&](const Array& captured) { return captured.is(array); };
    const auto found = std::ranges::find_if(region.captured, same);
    if (found == region.captured.end()) continue;
    values.emplace(arguments[operands + static_cast<size_t>(found - region.captured.begin())].node(), made);
  }
  const auto stand_in = [&](Value value) {
    Value& made = values[value.node()];
    if (!made) made = graph.add_tensor(graph.unique_name(value.name()), value.type(), value.role());
    return made;
  };
  copy_into(region.model.graph.body(), graph.body(), stand_in, region.model.graph.outputs());
  return graph;
}

Arrays together(const std::vector<const Region*>& regions) {
  Arrays all;
  for (const Region* region : regions) {
    for (const Array& array : region->captured) {
      if (std::ranges::none_of(all, [&](const Array& known) { return known.is(array); })) all.push_back(array);
    }
  }
  return all;
}

/// Caches recorded networks by graph, so that an equal one need not be compiled again.
std::shared_ptr<const Recorded> kept(Model model, Recorded::Places places) {
  static constexpr size_t kMost = 64;
  static auto* turn = new std::mutex;
  static auto* known = new std::list<std::shared_ptr<const Recorded>>;
  const std::scoped_lock lock(*turn);
  const auto same = [&](const auto& each) {
    return each->graph() == model.graph && each->places().in == places.in &&
           std::ranges::equal(each->model().tensors, model.tensors, [](const auto& a, const auto& b) {
             return a.first == b.first && a.second.same_bits(b.second);
           });
  };
  if (const auto found = std::ranges::find_if(*known, same); found != known->end()) {
    known->splice(known->begin(), *known, found);
  } else {
    known->push_front(std::make_shared<const Recorded>(std::move(model), std::move(places)));
    if (known->size() > kMost) known->pop_back();
  }
  return known->front();
}

/// Inserts and applies one operator with regions on all `inputs`.
Arrays run_flow(const OpInfo& info, const Attributes& attributes, const std::vector<const Region*>& regions,
                size_t operands, const Arrays& inputs, const Arrays& captured) {
  Model model;
  model.graph.set_name(info.name);
  std::vector<Value> values;
  Recorded::Places places;
  for (const Array& input : inputs) {
    values.push_back(model.graph.add_argument(model.graph.unique_name("x"), input.type()));
    places.in.push_back(input.place());
  }
  const Op op = Builder(model.graph).insert({&info, std::move(values), attributes, info.name, here()});
  std::vector<Graph> graphs;
  for (const Region* region : regions) graphs.push_back(taking(*region, operands, captured));
  make_regions(op, graphs, [&](Value tensor) {
    const auto of =
        std::ranges::find_if(graphs, [&](const Graph& each) { return each.tensor(tensor.name()) == tensor; });
    const Region& region = *regions[static_cast<size_t>(of - graphs.begin())];
    return passes::add_tensor(model, "constant", region.model.tensors.at(tensor.name()), Role::constant);
  });
  model.graph.set_outputs(op.results());
  places.out.assign(op.results().size(), inputs.front().place());
  return apply_recorded(kept(std::move(model), std::move(places)), inputs);
}

Arrays joined(Arrays first, const Arrays& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void check_condition(const Array& condition, const char* what) {
  if (condition.dtype() != DType::boolean || count_elements(condition.dims()) != 1)
    fail(errors::condition_not_one_bool(fmt::format("{}: condition", what), to_string(condition.type())));
}

/// The condition in the shape that the operator takes.
Array scalar(const Array& condition) {
  return condition.dims().empty() ? condition : apply("reshape", {condition}, {{"dims", std::vector<int64_t>{}}});
}

void check_states(const Arrays& found, const Arrays& states, const std::string& what) {
  if (found.size() != states.size())
    fail(errors::loop_states_differ(what, fmt::format("{} states", found.size()), states.size()));
  for (size_t i = 0; i < states.size(); ++i) {
    if (found[i].dtype() != states[i].dtype() || found[i].dims().size() != states[i].dims().size())
      fail(errors::loop_states_differ(fmt::format("{}: state {}", what, i), to_string(found[i].type()),
                                      to_string(states[i].type())));
  }
}

}  // namespace

Arrays cond(const Array& condition, const Body& then, const Body& otherwise, const Arrays& operands) {
  check_condition(condition, "cond");
  const Region first = traced("the first branch of cond", operands, then);
  const Region second = traced("the second branch of cond", operands, otherwise);
  const Arrays captured = together({&first, &second});
  return run_flow(ops::If::record(), {}, {&first, &second}, operands.size(),
                  joined(joined({scalar(condition)}, operands), captured), captured);
}

Arrays while_loop(const Body& condition, const Body& body, const Arrays& states, int64_t at_most) {
  if (states.empty()) fail(errors::loop_without_operands("while_loop", "one state or more"));
  const std::string what = "the body of while_loop";
  const Arrays first = condition(states);
  check_condition(first.at(0), "while_loop");
  const Region region = traced(what, states, [&](const Arrays& now) {
    Arrays next = body(now);
    check_states(next, states, what);
    const Array goes_on = condition(next).at(0);
    check_condition(goes_on, "while_loop");
    return joined({scalar(goes_on)}, next);
  });
  return run_flow(ops::While::record(), {{"states", static_cast<int64_t>(states.size())}, {"at_most", at_most}},
                  {&region}, states.size(), joined(joined({scalar(first.at(0))}, states), region.captured),
                  region.captured);
}

std::pair<Arrays, Arrays> scan(const ScanBody& body, const Arrays& states, const Arrays& scanned) {
  if (scanned.empty()) fail(errors::loop_without_operands("scan", "one array to go through or more"));
  const std::string what = "the body of scan";
  Arrays elements;
  for (const Array& array : scanned) {
    if (array.dims().empty()) fail(errors::scanned_array_without_axis(to_string(array.type())));
    elements.push_back(full({array.dtype(), Dims(array.dims().begin() + 1, array.dims().end())}, 0, array.place()));
  }
  const auto count = static_cast<std::ptrdiff_t>(states.size());
  const Region region = traced(what, joined(states, elements), [&](const Arrays& now) {
    auto [next, stacked] = body({now.begin(), now.begin() + count}, {now.begin() + count, now.end()});
    check_states(next, states, what);
    return joined(next, stacked);
  });
  const Arrays all = run_flow(
      ops::Scan::record(),
      {{"states", static_cast<int64_t>(states.size())}, {"scanned", static_cast<int64_t>(scanned.size())}}, {&region},
      states.size() + scanned.size(), joined(joined(states, scanned), region.captured), region.captured);
  return {{all.begin(), all.begin() + count}, {all.begin() + count, all.end()}};
}

}  // namespace halfstep::capture
