#include "halfstep/tune/sensitivity/cuts.h"

#include <algorithm>

namespace halfstep::sensitivity {

Cuts::Cuts(const Graph& graph) : ops_(graph.ops()) {
  for (size_t i = 0; i < ops_.size(); ++i) {
    const Op op = ops_[i];
    indices_.emplace(op.node(), i);
    const bool is_stored =
        op.regions().empty() && std::ranges::all_of(op.operands(), [&](Value value) {
          return !value || value.is_tensor() || (value.producer() && stored_.contains(value.producer().node()));
        });
    if (is_stored) stored_.insert(op.node());
  }
}

/// For an operation in a region, the index of the outermost operation around it. For the graph's return, the end.
size_t Cuts::index(Op op) const {
  while (op.node()->block->parent()) op = op.node()->block->parent();
  const auto found = indices_.find(op.node());
  return found == indices_.end() ? ops_.size() : found->second;
}

size_t Cuts::position(Op op) const {
  if (!stored_.contains(op.node())) return index(op);
  size_t first = ops_.size();
  for (const Value result : op.results()) {
    for (const auto& [reader, operand] : result.uses()) {
      const size_t at = index(reader);
      first = std::min(first, at < ops_.size() ? position(ops_[at]) : at);
    }
  }
  return first;
}

std::vector<std::string> Cuts::live(size_t position) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(position, ops_.size()); ++i) {
    if (stored_.contains(ops_[i].node())) continue;
    for (const Value result : ops_[i].results()) {
      const auto uses = result.uses();
      if (std::ranges::any_of(uses, [&](const auto& use) { return index(use.first) >= position; }))
        names.push_back(result.name());
    }
  }
  return names;
}

}  // namespace halfstep::sensitivity
