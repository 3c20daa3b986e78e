#include "halfstep/passes/graph/separate_names.h"

#include <map>
#include <set>

#include "halfstep/core/ir/metadata/given_names.h"

namespace halfstep::passes {
namespace {

class Separation {
 public:
  explicit Separation(Graph& graph) : graph_(graph) {
    for (const Value tensor : graph.tensors()) names_.insert(tensor.name());
    collect(graph.body());
  }

  /// Returns new names by old names.
  std::map<std::string, std::string> run() {
    std::vector<std::string> before;
    for (const Op op : ops_) before.push_back(op.name());
    for (const Op op : ops_) rename(op, above_others(op.name()));
    for (const Op op : ops_) {
      if (is_above_an_argument(op.name())) rename(op, op.name() + "_");
    }
    std::map<std::string, std::string> renamed;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].name() != before[i]) renamed.emplace(before[i], ops_[i].name());
    }
    return renamed;
  }

 private:
  void collect(const Block& block) {
    for (const Value argument : block.arguments()) {
      names_.insert(argument.name());
      arguments_.insert(argument.name());
    }
    for (const Op op : block.ops()) {
      names_.insert(op.name());
      ops_.push_back(op);
      for (const auto& region : op.regions()) collect(*region);
    }
  }

  /// Replaces each dot of `name` that follows the name of another value.
  std::string above_others(std::string name) const {
    for (size_t dot = name.find('.', 1); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (names_.contains(name.substr(0, dot))) name[dot] = '_';
    }
    return name;
  }

  static bool is_below(const std::set<std::string>& names, const std::string& name) {
    const auto next = names.lower_bound(name + ".");
    return next != names.end() && next->starts_with(name + ".");
  }
  bool is_above_an_argument(const std::string& name) const { return is_below(arguments_, name); }

  void rename(Op op, std::string name) {
    if (name == op.name()) return;
    while (names_.contains(name) || graph_.value(name) || is_below(names_, name)) name += '_';
    names_.erase(op.name());
    names_.insert(name);
    graph_.rename(op, name);
  }

  Graph& graph_;
  std::vector<Op> ops_;
  std::set<std::string> names_, arguments_;
};

}  // namespace

void separate_names(Model& model) { rename_layers(model.metadata.given_names, Separation(model.graph).run()); }

}  // namespace halfstep::passes
