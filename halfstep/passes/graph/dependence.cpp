#include "halfstep/passes/graph/dependence.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

using Extents = std::map<std::string, Dims>;

/// Returns the graph with its batch set to the given extents, or with everything but its batch.
Graph with_known(const Graph& graph, const Extents& extents, bool batch) {
  Graph known = graph;
  for (const Value argument : known.arguments()) {
    Dims dims = argument.dims();
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] == kUnknown && (axis == 0) == batch) dims[axis] = extents.at(argument.name())[axis];
    }
    known.set_type(argument, {argument.dtype(), dims});
  }
  for (const Op op : known.ops()) op.infer();
  return known;
}

std::vector<int64_t> axes_of(Op op) {
  const auto found = [&](std::string_view name) { return op.attributes().find(name); };
  if (const auto axes = found("axes"); axes != op.attributes().end())
    return std::get<std::vector<int64_t>>(axes->second);
  if (const auto axis = found("axis"); axis != op.attributes().end()) return {std::get<int64_t>(axis->second)};
  return {};
}

/// Whether the results of the operator grow with the number of elements along its axes.
bool adds_along(Op op) {
  return op.is<ops::Cumsum, ops::Cumprod, ops::ReduceSum, ops::ReduceProd, ops::ReduceL1, ops::ReduceL2,
               ops::ReduceSumSquare, ops::ReduceLogSum, ops::ReduceLogSumExp>();
}

class Finder {
 public:
  Finder(const Graph& graph, const Extents& extents)
      : graph_(graph), of_lengths_(with_known(graph, extents, true)), of_batch_(with_known(graph, extents, false)) {}

  std::map<std::string, Dependence> run() {
    for (const Value argument : graph_.arguments()) found_[argument.name()] = {.samples = true};
    for (const Op op : graph_.ops()) visit(op);
    return std::move(found_);
  }

 private:
  void visit(Op op) {
    const Dependence all = of_operands(op);
    for (const Value result : op.results())
      found_[result.name()] = {all.samples, all.lengths && result.dtype() != DType::boolean};
    for (const auto& region : op.regions()) visit(*region, all);
  }

  void visit(const Block& region, Dependence all) {
    for (const Value argument : region.arguments()) found_[argument.name()] = all;
    for (const Op op : region.ops()) {
      for (const Value result : op.results()) found_[result.name()] = all;
      for (const auto& inner : op.regions()) visit(*inner, all);
    }
  }

  Dependence of_operands(Op op) const {
    if (op.is<ops::Positions>()) {
      const ops::Positions positions(op.node());
      return {is_open(of_batch_, positions.like(), positions.axis()),
              is_open(of_lengths_, positions.like(), positions.axis())};
    }
    Dependence all;
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto known = operands[i] ? found_.find(operands[i].name()) : found_.end();
      if (known == found_.end() || operands[i].is_tensor()) continue;
      all.samples |= known->second.samples;
      const bool is_shape = op.info().inputs[static_cast<size_t>(op.port_of(static_cast<int>(i)))].name == "like";
      all.lengths |= known->second.lengths && !is_shape;
    }
    all.lengths |= adds_along(op) && goes_along_open(op);
    return all;
  }

  bool goes_along_open(Op op) const {
    const Value x = op.in(0);
    const auto rank = static_cast<int64_t>(x.dims().size());
    std::vector<int64_t> axes = axes_of(op);
    for (int64_t axis = 0; axes.empty() && axis < rank; ++axis) axes.push_back(axis);
    return std::ranges::any_of(axes, [&](int64_t axis) { return is_open(of_lengths_, x, axis); });
  }

  static bool is_open(const Graph& graph, Value value, int64_t axis) {
    const Value same = value.is_tensor() ? value : graph.value(value.name());
    const Dims& dims = same.dims();
    const auto at = axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
    return dims[static_cast<size_t>(at)] == kUnknown;
  }

  const Graph& graph_;
  Graph of_lengths_, of_batch_;
  std::map<std::string, Dependence> found_;
};

}  // namespace

std::map<std::string, Dims> open_lengths(const Graph& graph) {
  std::map<std::string, Dims> open;
  for (const Value argument : graph.arguments()) {
    const Dims& dims = argument.dims();
    if (dims.size() > 1 && std::find(dims.begin() + 1, dims.end(), kUnknown) != dims.end())
      open.emplace(argument.name(), dims);
  }
  return open;
}

std::map<std::string, Dependence> dependences(const Model& model, const Extents& extents) {
  return Finder(model.graph, extents).run();
}

}  // namespace halfstep::passes
