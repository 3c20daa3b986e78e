// Operations with regions, and nested graphs that are inlined instead.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/shapes/infer.h"
#include "halfstep/formats/builder/builder.h"
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

std::vector<Operand> operands_of(const std::vector<Value>& values) {
  std::vector<Operand> operands;
  for (const Value value : values) operands.emplace_back().value = value;
  return operands;
}

Type without_first(Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}

/// Files may have values whose rank only a run determines.
void check_axes(const Node& node, const Type& then, const Type& otherwise) {
  if (then.dtype == otherwise.dtype && then.dims.size() != otherwise.dims.size())
    fail(errors::branches_differ(node.where(), to_string(then), to_string(otherwise)));
}

}  // namespace

std::vector<std::optional<Tried>> Builder::extents_of(const Operand& operand) const {
  std::vector<std::optional<Tried>> extents;
  for (size_t axis = 0; axis < operand.dims().size(); ++axis)
    extents.push_back(extent_of(*this, operand, axis).tried());
  return extents;
}

Op Builder::begin_flow(const Node& node, std::string_view op, const std::vector<Operand>& operands,
                       Attributes attributes) {
  OpSpec spec = spec_of(node, require_operator(op, node.where()), std::move(attributes));
  for (const Operand& operand : operands) spec.operands.push_back(value_of(readable(node, operand)));
  return model_.graph.insert(std::move(spec), regions_.block());
}

std::vector<Operand> Builder::fill_region(const Node& node, Block& region, const FillRegion& fill) {
  const InRegion inside(regions_, region);
  const std::vector<Operand> given = fill(operands_of(region.arguments()));
  if (std::ranges::any_of(given, &Operand::lost)) return std::vector<Operand>(given.size(), lost());
  std::vector<Value> outputs;
  for (const Operand& output : given) outputs.push_back(value_of(readable(node, output)));
  region.set_outputs(outputs);
  return operands_of(outputs);
}

std::vector<Operand> Builder::make_branches(const Node& node, const Operand& condition,
                                            const std::vector<FillRegion>& fill) {
  const Op made = begin_flow(node, "if", {condition}, {});
  for (size_t r = 0; r < fill.size(); ++r) model_.graph.add_region(made);
  std::vector<std::vector<Operand>> given;
  for (size_t r = 0; r < fill.size(); ++r) {
    // Values that earlier branches captured are arguments of this one too.
    given.push_back(fill_region(node, *made.regions()[r], [&](const auto&) { return fill[r]({}); }));
    if (std::ranges::any_of(given.back(), &Operand::lost)) return given.back();
  }
  for (size_t i = 0; i < std::min(given.front().size(), given.back().size()); ++i)
    check_axes(node, given.front()[i].type(), given.back()[i].type());
  made.infer();
  made_.insert(made.name());
  for (size_t i = 0; i < made.results().size(); ++i) {
    auto extents = extents_of(given[0][i]);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const auto is_other = [&](const auto& branch) {
        return !same(Element(extents[axis]), extent_of(*this, branch[i], axis));
      };
      if (std::ranges::any_of(given, is_other)) extents[axis].reset();
    }
    trials_.add(made.results()[i], extents);
  }
  return operands_of(made.results());
}

void Builder::add_arguments(Op made, Block& region, const LoopSpec& loop, const OpenStates& opened) {
  const auto add = [&](const Type& type, const std::vector<std::optional<Tried>>& extents) {
    trials_.add(region.add_argument(model_.graph.unique_name(fmt::format("{}.in", made.name())), type), extents);
  };
  for (size_t s = 0; s < loop.states.size(); ++s) {
    Type type = loop.states[s].type();
    auto extents = extents_of(loop.states[s]);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (!opened.contains({s, axis})) continue;
      type.dims[axis] = kUnknown;
      extents[axis].reset();
    }
    add(type, extents);
  }
  for (const Operand& scanned : loop.scanned) {
    auto extents = extents_of(scanned);
    extents.erase(extents.begin());
    add(without_first(scanned.type()), extents);
  }
}

Builder::OpenStates Builder::changed_states(const Block& region, const LoopSpec& loop,
                                            const std::vector<Operand>& given) const {
  OpenStates changed;
  const std::vector<Operand> taken = operands_of(region.arguments());
  const size_t conditions = loop.conditions.size();
  for (size_t s = 0; s < loop.states.size() && conditions + s < given.size(); ++s) {
    const Operand& next = given[conditions + s];
    for (size_t axis = 0; axis < std::min(taken[s].dims().size(), next.dims().size()); ++axis) {
      if (!same(extent_of(*this, taken[s], axis), extent_of(*this, next, axis))) changed.emplace(s, axis);
    }
  }
  return changed;
}

std::vector<Operand> Builder::loop_results(Op made, const LoopSpec& loop, const OpenStates& opened,
                                           const std::vector<Operand>& given) {
  made.infer();
  made_.insert(made.name());
  const std::vector<Operand> taken = operands_of(made.regions()[0]->arguments());
  const size_t states = loop.states.size();
  for (size_t i = 0; i < made.results().size(); ++i) {
    auto extents = extents_of(i < states ? taken[i] : given[loop.conditions.size() + i]);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (i < states ? opened.contains({i, axis}) : !opened.empty()) extents[axis].reset();
    }
    if (i >= states)
      extents.insert(extents.begin(), loop.scanned.empty() ? std::nullopt : extents_of(loop.scanned[0]).front());
    trials_.add(made.results()[i], extents);
  }
  return operands_of(made.results());
}

std::vector<Operand> Builder::make_loop(const Node& node, const LoopSpec& loop, const void* body,
                                        const FillRegion& fill) {
  Attributes attributes = {{"states", static_cast<int64_t>(loop.states.size())}};
  if (!loop.scanned.empty()) attributes.emplace("scanned", static_cast<int64_t>(loop.scanned.size()));
  std::vector<Operand> operands = loop.conditions;
  operands.insert(operands.end(), loop.states.begin(), loop.states.end());
  operands.insert(operands.end(), loop.scanned.begin(), loop.scanned.end());
  // Open states are stored for the next call, because each nesting level of loops would double the work.
  OpenStates& opened = opened_[body];
  for (;;) {
    const Op made = begin_flow(node, loop.op, operands, attributes);
    Block& region = model_.graph.add_region(made);
    add_arguments(made, region, loop, opened);
    std::vector<Operand> given = fill_region(node, region, fill);
    if (std::ranges::any_of(given, &Operand::lost)) return given;
    const size_t before = opened.size();
    opened.merge(changed_states(region, loop, given));
    if (opened.size() == before) return loop_results(made, loop, opened, given);
    model_.graph.erase(made);
  }
}

bool Builder::tried(const std::function<void()>& translate) {
  const size_t before = block().ops().size();
  try {
    translate();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    while (block().ops().size() > before) model_.graph.erase(block().ops().back());
    return false;
  }
}

bool Builder::tried_inside(const void* graph, const std::function<void()>& translate) {
  if (not_inside_.contains(graph)) return false;
  const int64_t before = translated_;
  if (tried(translate)) return true;
  if (translated_ > before) not_inside_.insert(graph);
  return false;
}

void Builder::regions_or(const std::function<void()>& as_regions, const std::function<void()>& in_place) {
  if (!has_values()) return as_regions();
  if (!tried(as_regions)) in_place();
}

}  // namespace halfstep::formats
