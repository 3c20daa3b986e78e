#include "halfstep/engine/capture/captured.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/engine/capture/captured_tree.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {

Captured::Captured() = default;
Captured::~Captured() = default;
Captured::Captured(Captured&&) noexcept = default;
Captured& Captured::operator=(Captured&&) noexcept = default;

namespace {

/// Copies an operation with its regions into the graph of `to`. `value_of` maps its operands.
Op copy_operation(Op op, Model& to, const std::function<Value(Value)>& value_of) {
  std::vector<Value> operands;
  for (const Value operand : op.operands()) operands.push_back(operand ? value_of(operand) : Value());
  const Op made =
      Builder(to.graph).insert({&op.info(), std::move(operands), op.attributes(), op.name(), op.location()});
  if (op.regions().empty()) return made;
  std::vector<Graph> regions;
  for (const auto& region : op.regions()) regions.push_back(region_graph(*region, op.name()));
  make_regions(made, regions, value_of);
  return made;
}

bool same_constants(const Model& a, const Model& b) {
  return std::ranges::equal(a.tensors, b.tensors, [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.same_bits(other.second);
  });
}

}  // namespace

/// Adds one trace to the tree.
class Captured::Adding {
 public:
  Adding(Captured& captured, Trace& trace, const Arrays& arguments, const Arrays& results)
      : captured_(captured), trace_(trace), arguments_(arguments), places_(trace.places()) {
    for (size_t i = 0; i < arguments.size(); ++i)
      (void)number(trace.graph_arguments()[i].name());  // arguments have the numbers 0, 1, ...
    stretches_ = trace.take_stretches();
    ops_ = trace.model().graph.ops();
    for (size_t k = 0, i = 0; k < stretches_.size(); ++k) {
      for (; i < stretches_[k].operations; ++i) {
        for (const Value result : ops_[i].results()) stretch_of_.emplace(result.node(), k);
      }
    }
    make_end(results);
    for (size_t k = 0; k < stretches_.size(); ++k) nodes_.push_back(make_node(k));
    note_reads();
  }

  std::vector<std::unique_ptr<Node>>& nodes() { return nodes_; }
  const std::string& outcome(size_t k) const { return stretches_[k].outcome; }
  const Location& where(size_t k) const { return stretches_[k].where; }
  Holder holder(const Array& array) const { return holder_of(array); }
  void set_tag(size_t tag) { end_->tag = tag; }

 private:
  size_t number(const std::string& name) {
    return captured_.numbers_.emplace(name, captured_.numbers_.size()).first->second;
  }

  Holder holder_of(const Array& array) const {
    const auto same = [&](const Array& argument) { return argument.is(array); };
    const auto found = std::ranges::find_if(arguments_, same);
    if (found == arguments_.end()) return {std::nullopt, array};
    return {static_cast<size_t>(found - arguments_.begin())};
  }

  Item item_of(const ContentPtr& content) {
    const Value value = trace_.value_of(Array(content));
    if (value.is_tensor()) return {std::nullopt, std::nullopt, content};
    if (value.producer()) return {std::nullopt, output_of(value, content->producer != nullptr)};
    return {std::nullopt, std::nullopt, nullptr, number(value.name())};
  }

  /// A result. An array that existed before the trace is returned itself. Any other becomes a new array in each run.
  Item result_of(const Array& array) {
    if (array.cell()->born < trace_.began()) return {holder_of(array)};
    Item item = item_of(array.content());
    item.made = made_.emplace(array.cell().get(), made_.size()).first->second;
    return item;
  }

  size_t output_of(Value value, bool differentiable) {
    const auto known = std::ranges::find(outputs_, value);
    if (known != outputs_.end()) return static_cast<size_t>(known - outputs_.begin());
    outputs_.push_back(value);
    end_->differentiable.push_back(differentiable);
    return outputs_.size() - 1;
  }

  void make_end(const Arrays& results) {
    for (const Array& result : results) end_->results.push_back(result_of(result));
    for (const capture::Written& written : trace_.written()) {
      const Array array = written.cell->array();
      Written made{holder_of(array), written.is_gradient, {}};
      if (!written.is_gradient) {
        made.item = item_of(array.content());
      } else if (written.cell->gradient) {
        made.item = result_of(written.cell->gradient);
      }
      end_->written.push_back(std::move(made));
    }
    Model model = trace_.model();
    model.graph.set_name(trace_.what());
    std::vector<Value> outputs;
    for (const Value output : outputs_) outputs.push_back(model.graph.value(output.name()));
    model.graph.set_outputs(outputs);
    Recorded::Places places;
    for (const Array& argument : trace_.arguments()) {
      places.in.push_back(argument.place());
      end_->wanted.push_back(argument.is_differentiable());
    }
    end_->on_tape = std::ranges::find(end_->differentiable, true) != end_->differentiable.end();
    for (const Value output : outputs_) places.out.push_back(places_.at(output.node()));
    for (const Value argument : trace_.graph_arguments()) end_->inputs.push_back(number(argument.name()));
    for (const Value output : outputs_) end_->outputs.push_back(number(output.name()));
    end_->whole = std::make_shared<const Recorded>(std::move(model), std::move(places), trace_.apart());
    end_->keeps = !trace_.takes_gradients();
    if (!end_->on_tape || !end_->keeps) return;
    for (const std::string& name : end_->whole->saved(end_->wanted)) {
      end_->saved.emplace_back(name, number(name));
      further_.push_back(trace_.model().graph.value(name));
    }
  }

  std::unique_ptr<Node> make_node(size_t k) {
    auto node = std::make_unique<Node>();
    const Stretch& stretch = stretches_[k];
    Model& to = node->model;
    std::map<const detail::ValueNode*, Value> values;
    const auto value_of = [&](Value value) {
      Value& made = values[value.node()];
      if (made) return made;
      if (value.is_tensor()) {
        made = to.graph.add_tensor(value.name(), value.type(), value.role());
        to.tensors.emplace(value.name(), trace_.model().tensors.at(value.name()));
      } else {
        made = to.graph.add_argument(value.name(), value.type());
        node->reads.push_back(number(value.name()));
        note_place(*node, value);
      }
      return made;
    };
    for (size_t i = k == 0 ? 0 : stretches_[k - 1].operations; i < stretch.operations; ++i) {
      const Op made = copy_operation(ops_[i], to, value_of);
      const std::vector<Value> results = ops_[i].results();
      for (size_t port = 0; port < results.size(); ++port) {
        values.emplace(results[port].node(), made.results()[port]);
        note_place(*node, results[port]);
      }
    }
    add_outside(*node, k);
    for (const auto& [number_of_effect, shown] : stretch.effects) {
      auto& items =
          node->effects.emplace_back(number_of_effect, decltype(node->effects)::value_type::second_type()).second;
      for (const Array& array : shown) {
        const Value value = trace_.value_of(array);
        items.emplace_back(value.is_tensor() ? 0 : number(value.name()), value.is_tensor() ? array.content() : nullptr);
      }
    }
    if (stretch.decided) {
      node->decided_name = trace_.value_of(stretch.decided).name();
      node->decided = number(node->decided_name);
    } else {
      node->end = end_;
    }
    return node;
  }

  void note_place(Node& node, Value value) const {
    const auto known = places_.find(value.node());
    if (known != places_.end() && known->second != Place{}) node.places.emplace(value.name(), known->second);
  }

  void add_outside(Node& node, size_t k) {
    const Stretch& stretch = stretches_[k];
    for (size_t i = k == 0 ? arguments_.size() : stretches_[k - 1].arguments; i < stretch.arguments; ++i) {
      const Array& array = trace_.arguments()[i];
      const size_t at = number(trace_.graph_arguments()[i].name());
      const auto drawn = std::ranges::find_if(stretch.drawn, [&](const auto& each) { return each.first.is(array); });
      if (drawn != stretch.drawn.end()) {
        node.drawn.emplace_back(at, drawn->second);
      } else {
        node.outside.emplace_back(at, array);
      }
    }
  }

  /// Records the values that a stretch computes and that other stretches, the end, a decision or an effect read.
  void note_reads() {
    const auto note = [&](Value value, size_t reader) {
      const auto made = stretch_of_.find(value.node());
      if (made == stretch_of_.end() || (made->second == reader && reader != stretches_.size())) return;
      nodes_[made->second]->gives.insert(value.name());
    };
    const size_t nobody = stretches_.size();
    for (size_t k = 0, i = 0; k < stretches_.size(); ++k) {
      for (; i < stretches_[k].operations; ++i) {
        for (const Value operand : ops_[i].operands()) {
          if (operand) note(operand, k);
        }
      }
      for (const auto& [effect, shown] : stretches_[k].effects) {
        for (const Array& array : shown) note(trace_.value_of(array), nobody);
      }
      if (stretches_[k].decided) note(trace_.value_of(stretches_[k].decided), nobody);
    }
    for (const Value output : outputs_) note(output, nobody);
    for (const Value value : further_) note(value, nobody);
  }

  Captured& captured_;
  Trace& trace_;
  const Arrays& arguments_;
  const std::unordered_map<const detail::ValueNode*, Place> places_;
  std::vector<Stretch> stretches_;
  std::vector<Op> ops_;
  std::unordered_map<const detail::ValueNode*, size_t> stretch_of_;
  std::vector<Value> outputs_, further_;
  std::unordered_map<const Cell*, size_t> made_;
  std::shared_ptr<End> end_ = std::make_shared<End>();
  std::vector<std::unique_ptr<Node>> nodes_;
};

std::optional<Location> Captured::add(Trace& trace, const Arrays& arguments, const Arrays& results, size_t tag) {
  Adding adding(*this, trace, arguments, results);
  adding.set_tag(tag);
  std::unique_ptr<Node>* place = &root_;
  for (size_t k = 0; k < adding.nodes().size(); ++k) {
    std::unique_ptr<Node>& node = adding.nodes()[k];
    if (*place != nullptr && (*place)->model.graph == node->model.graph &&
        same_constants((*place)->model, node->model)) {
      const size_t before = (*place)->gives.size();
      (*place)->gives.merge(node->gives);
      if ((*place)->gives.size() != before) (*place)->program = nullptr;
    } else {
      *place = std::move(node);  // the first trace, or the function changed
    }
    if ((*place)->end != nullptr) break;
    auto& next = (*place)->next;
    if (next.size() == kMostOutcomes && !next.contains(adding.outcome(k))) return adding.where(k);
    place = &next[adding.outcome(k)];
  }
  if (extents_.empty()) {
    for (const Array& argument : arguments) extents_.push_back(argument.dims());
  }
  depends_on_.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) depends_on_[i] = depends_on_[i] || trace.depends_on_extents(i);
  for (size_t i = arguments.size(); i < trace.arguments().size(); ++i) {
    const Array& array = trace.arguments()[i];
    const bool is_known = std::ranges::any_of(outside_, [&](const auto& known) { return known.first.is(array); });
    if (!is_known && array.cell()->born < trace.began()) outside_.emplace_back(array, array.is_differentiable());
  }
  for (const auto& [cell, before] : trace.gradients()) gradients_.emplace_back(adding.holder(cell->array()), before);
  return std::nullopt;
}

bool Captured::fits(const Arrays& arguments) const {
  const auto is_argument = [&](const Array& array) {
    return std::ranges::any_of(arguments, [&](const Array& argument) { return argument.is(array); });
  };
  return std::ranges::all_of(outside_,
                             [&](const auto& known) {
                               return known.first.is_differentiable() == known.second && !is_argument(known.first);
                             }) &&
         std::ranges::all_of(gradients_, [&](const auto& known) {
           return known.first.in(arguments).cell()->gradient.is(known.second);
         });
}

Captured::Run Captured::run(const Arrays& arguments, const std::function<void(size_t, const Arrays&)>& effect) {
  Run run;
  if (root_ == nullptr) return run;  // another thread is capturing it
  Values values(numbers_.size());
  for (size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i].content();
  const Draws before = draws();
  std::vector<std::pair<size_t, Arrays>> effects;
  const auto show = [&] {
    for (const auto& [number, arrays] : effects) effect(number, arrays);
    run.effects = effects.size();
  };
  for (Node* node = root_.get(); node != nullptr;) {
    run_node(*node, values);
    for (const auto& [number, items] : node->effects) effects.emplace_back(number, shown(items, values));
    if (node->end != nullptr) {
      const std::shared_ptr<const End> end = node->end;
      show();
      run.results = finish(*end, arguments, values);
      run.tag = end->tag;
      return run;
    }
    const auto next = node->next.find(bytes_of(values[*node->decided]->tensor));
    node = next == node->next.end() ? nullptr : next->second.get();
  }
  set_draws(before);
  show();
  return run;
}

void Captured::run_node(Node& node, Values& values) {
  for (const auto& [number, array] : node.outside) values[number] = array.content();
  for (const auto& [number, make] : node.drawn) values[number] = Array(make()).content();
  if (node.gives.empty()) return;
  if (node.program == nullptr) node.program = program_of(node);
  std::vector<const Tensor*> inputs;
  inputs.reserve(node.reads.size());
  for (const size_t number : node.reads) inputs.push_back(&values[number]->tensor);
  std::vector<Tensor> made = node.program->run(inputs);
  for (size_t i = 0; i < made.size(); ++i) {
    const Type& type = made[i].type();
    values[node.made[i]] =
        std::make_shared<const Content>(Content{type, node.program->places().out[i], std::move(made[i])});
  }
}

std::shared_ptr<const Recorded> Captured::program_of(Node& node) {
  Model model = node.model;
  std::vector<Value> outputs;
  std::vector<std::string> names;
  node.made.clear();
  for (const std::string& name : node.gives) {
    outputs.push_back(model.graph.value(name));
    names.push_back(name);
    node.made.push_back(numbers_.at(name));
  }
  model.graph.set_outputs(std::move(outputs), std::move(names));
  const auto place_of = [&](const std::string& name) {
    const auto known = node.places.find(name);
    return known == node.places.end() ? Place{} : known->second;
  };
  Recorded::Places places;
  for (const Value argument : model.graph.arguments()) places.in.push_back(place_of(argument.name()));
  for (const std::string& name : node.gives) places.out.push_back(place_of(name));
  return std::make_shared<const Recorded>(std::move(model), std::move(places));
}

Arrays Captured::shown(const std::vector<std::pair<size_t, ContentPtr>>& items, const Values& values) {
  Arrays arrays;
  for (const auto& [number, constant] : items) arrays.emplace_back(constant == nullptr ? values[number] : constant);
  return arrays;
}

/// Contents of the outputs. Differentiable ones are on the tape.
std::vector<ContentPtr> Captured::outputs_of(const End& end, const Values& values) {
  std::vector<ContentPtr> contents;
  contents.reserve(end.outputs.size());
  for (const size_t number : end.outputs) contents.push_back(values[number]);
  if (!end.on_tape) return contents;
  const auto step = std::make_shared<Step>();
  step->what = end.whole;
  step->inputs.reserve(end.inputs.size());
  for (const size_t number : end.inputs) step->inputs.push_back(values[number]);
  if (end.keeps) {
    for (const ContentPtr& content : contents) step->kept->outputs.push_back(content->tensor);
    for (const auto& [name, number] : end.saved) step->kept->inside.emplace(name, values[number]->tensor);
  } else {
    step->kept.reset();
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    if (!end.differentiable[i]) continue;
    Content content = *contents[i];
    content.producer = step;
    content.port = i;
    content.differentiable = true;
    contents[i] = std::make_shared<const Content>(std::move(content));
  }
  step->results.assign(contents.begin(), contents.end());
  return contents;
}

Arrays Captured::finish(const End& end, const Arrays& arguments, const Values& values) {
  const std::vector<ContentPtr> outputs = outputs_of(end, values);
  std::map<size_t, Array> made;
  const auto content_of = [&](const Item& item) {
    return item.input ? values[*item.input] : item.output ? outputs[*item.output] : item.constant;
  };
  const auto array_of = [&](const Item& item) {
    if (item.holder) return item.holder->in(arguments);
    if (item.made && made.contains(*item.made)) return made.at(*item.made);
    Array array(content_of(item));
    if (item.made) made.emplace(*item.made, array);
    return array;
  };
  Arrays results;
  for (const Item& item : end.results) results.push_back(array_of(item));
  for (const Written& written : end.written) {
    Array array = written.holder.in(arguments);
    if (written.is_gradient) {
      array.set_gradient(written.item ? array_of(*written.item) : Array());
    } else {
      array.cell()->content = array.cell()->held(*content_of(*written.item));
    }
  }
  return results;
}

namespace {

std::string shown_bytes(const std::string& bytes) {
  std::string text = "0x";
  for (auto byte = bytes.rbegin(); byte != bytes.rend() && text.size() < 18; ++byte)
    text += fmt::format("{:02x}", static_cast<uint8_t>(*byte));
  return text;
}

template <class Node>
void write(const Node& node, const std::string& indent, std::string& text) {
  text += print(node.model.graph);
  for (const auto& [outcome, next] : node.next) {
    text += fmt::format("{}where {} is {}:\n", indent, node.decided_name, shown_bytes(outcome));
    write(*next, indent + "  ", text);
  }
}

template <class Node>
size_t count(const Node& node) {
  size_t found = 1;
  for (const auto& [outcome, next] : node.next) found += count(*next);
  return found;
}

}  // namespace

size_t Captured::programs() const { return root_ == nullptr ? 0 : count(*root_); }

std::string Captured::text() const {
  std::string text;
  if (root_ != nullptr) write(*root_, "", text);
  return text;
}

}  // namespace halfstep::capture
