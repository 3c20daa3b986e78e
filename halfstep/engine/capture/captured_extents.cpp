// Derives the programs of a captured function for other extents, without running the function.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "halfstep/engine/capture/captured.h"
#include "halfstep/engine/capture/captured_tree.h"

namespace halfstep::capture {

/// Visits the tree in execution order, so that the types of each program's inputs are known.
class Captured::WithExtents {
 public:
  WithExtents(const Captured& from, const Arrays& arguments) {
    made_.numbers_ = from.numbers_;
    made_.outside_ = from.outside_;
    made_.gradients_ = from.gradients_;
    made_.depends_on_ = from.depends_on_;
    for (const Array& argument : arguments) made_.extents_.push_back(argument.dims());
    for (const auto& [name, number] : from.numbers_) {
      if (number < arguments.size()) types_.insert_or_assign(name, arguments[number].type());
    }
    made_.root_ = node(*from.root_);
  }

  Captured take() { return std::move(made_); }

 private:
  std::unique_ptr<Node> node(const Node& from) {
    auto node = std::make_unique<Node>();
    static_cast<Part&>(*node) = from;
    infer(node->model.graph);
    for (const Op op : node->model.graph.ops()) {
      for (const Value result : op.results()) types_.insert_or_assign(result.name(), result.type());
    }
    way_.push_back(node.get());
    for (const auto& [outcome, next] : from.next) node->next.emplace(outcome, this->node(*next));
    if (from.end != nullptr) node->end = end(*from.end);
    way_.pop_back();
    return node;
  }

  std::shared_ptr<const End> end(const End& from) {
    auto end = std::make_shared<End>(from);
    Model whole = from.whole->model();
    infer(whole.graph);
    end->whole = std::make_shared<const Recorded>(std::move(whole), from.whole->places(), from.whole->apart());
    if (!end->on_tape || !end->keeps) return end;
    end->saved.clear();
    for (const std::string& name : end->whole->saved(end->wanted)) {
      end->saved.emplace_back(name, made_.numbers_.emplace(name, made_.numbers_.size()).first->second);
      for (Node* node : way_) {
        const Value value = node->model.graph.value(name);
        if (value && value.producer()) node->gives.insert(name);
      }
    }
    return end;
  }

  void infer(Graph& graph) const {
    for (const Value argument : graph.arguments()) {
      if (const auto known = types_.find(argument.name()); known != types_.end())
        graph.set_type(argument, known->second);
    }
    for (const Op op : graph.ops()) op.infer();
  }

  Captured made_;
  std::unordered_map<std::string, Type> types_;  ///< types of arguments and of values computed so far
  std::vector<Node*> way_;
};

std::optional<Captured> Captured::with_extents(const Arrays& arguments) const {
  if (root_ == nullptr) return std::nullopt;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (depends_on_[i] && arguments[i].dims() != extents_[i]) return std::nullopt;
  }
  return WithExtents(*this, arguments).take();
}

bool Captured::has_extents(const Arrays& arguments) const {
  return std::ranges::equal(arguments, extents_, {}, &Array::dims);
}

}  // namespace halfstep::capture
