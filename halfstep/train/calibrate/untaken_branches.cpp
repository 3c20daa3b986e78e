#include "halfstep/train/calibrate/untaken_branches.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/platform/step_observers.h"

namespace halfstep::train {
namespace {

bool has_range(const Model& model, const ops::ObserveRange& observer) {
  const auto low = model.tensors.at(observer.low().name()).data<float>();
  const auto high = model.tensors.at(observer.high().name()).data<float>();
  return low.empty() || low[0] <= high[0];
}

/// The blocks around an operation, without the body, outermost first.
std::vector<const Block*> regions_around(Op op) {
  std::vector<const Block*> regions;
  for (const Block* block = op.node()->block; block->parent(); block = block->parent().node()->block)
    regions.insert(regions.begin(), block);
  return regions;
}

bool is_in_branches_alone(const std::vector<const Block*>& regions) {
  return std::ranges::all_of(regions, [](const Block* region) { return region->parent().info().flow == Flow::branch; });
}

bool is_inside(Op op, const Block* region) {
  const auto around = regions_around(op);
  return std::ranges::find(around, region) != around.end();
}

size_t number_of(const Block* region) {
  const auto& all = region->parent().regions();
  return static_cast<size_t>(std::ranges::find_if(all, [&](const auto& one) { return one.get() == region; }) -
                             all.begin());
}

}  // namespace

bool UntakenBranches::find() {
  const auto observers = prepared_.graph.all<ops::ObserveRange>();
  const auto is_untaken = [&](const Block* region) {
    return std::ranges::none_of(observers, [&](const ops::ObserveRange& observer) {
      return is_inside(observer, region) && !quant::watches_tensors(observer) && has_range(prepared_, observer);
    });
  };
  const size_t before = regions_.size();
  for (const auto& observer : observers) {
    if (has_range(prepared_, observer) || quant::watches_tensors(observer)) continue;
    const auto around = regions_around(observer);
    if (!is_in_branches_alone(around)) continue;
    const auto next = std::ranges::find_if(
        around, [&](const Block* region) { return !regions_.contains(region->parent().name()) && is_untaken(region); });
    if (next != around.end()) regions_.emplace((*next)->parent().name(), number_of(*next));
  }
  return regions_.size() > before;
}

Model UntakenBranches::entered(const Model& observing) const {
  Model model = quant::with_observers(observing, [&](const ops::ObserveRange& observer) {
    return !quant::watches_tensors(observer) && !has_range(prepared_, observer);
  });
  for (const auto& [name, region] : regions_) {
    const Op branch = model.graph.op(name);
    Builder builder = Builder::before(model.graph, branch);
    branch.set_operand(0, ops::logical_not(builder, {.x = branch.in(0), .name = name + ".other"}).out());
  }
  return model;
}

std::vector<std::string> UntakenBranches::names() const {
  std::vector<std::string> names;
  for (const auto& [name, region] : regions_) {
    const Op branch = prepared_.graph.op(name);
    names.push_back(fmt::format("{}{} '{}': region '{}'", path_to(branch), branch.info().name, name,
                                branch.info().regions[region]));
  }
  return names;
}

}  // namespace halfstep::train
