#include "halfstep/quant/float_islands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/ir/decisions.h"
#include "halfstep/quant/regions.h"

namespace halfstep::quant {
namespace {

/// Whole numbers, as ids and their extents are, are the same in an integer program; a branch or a loop is what its
/// operations are.
bool computes_reals(Op op) {
  if (op.info().flow != Flow::none) return false;
  const auto is_real = [](Value value) { return value && is_float(value.dtype()); };
  return std::ranges::any_of(op.operands(), is_real) || std::ranges::any_of(op.results(), is_real);
}

}  // namespace

std::vector<FloatIsland> float_islands(const Model& model) {
  const FloatOperators reasons = float_operators(model);
  const auto outside = outside_regions(model.graph);
  std::vector<FloatIsland> islands;
  for (Op op : model.graph.all_ops()) {
    if (const auto found = reasons.find(op.name()); found != reasons.end() && computes_reals(op))
      islands.push_back({op.name(), op.info().name, found->second, outside.contains(op.node())});
  }
  return islands;
}

std::vector<FloatIsland> islands_inside(const Model& prepared) {
  auto islands = float_islands(prepared);
  std::erase_if(islands, [](const FloatIsland& island) { return island.is_outside; });
  return islands;
}

std::string describe(const std::vector<FloatIsland>& islands) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, islands.size()); ++i)
    shown.push_back(fmt::format("{} '{}'", islands[i].op, islands[i].layer));
  if (islands.size() > kShown) shown.push_back(fmt::format("{} more", islands.size() - kShown));
  return fmt::format("{} operator{} ({})", islands.size(), islands.size() == 1 ? "" : "s", fmt::join(shown, ", "));
}

}  // namespace halfstep::quant
