#include "halfstep/quant/float_islands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"
#include "halfstep/passes/quantized_steps.h"

namespace halfstep::quant {
namespace {

constexpr const char* kNote = "float_islands";

}  // namespace

std::vector<FloatIsland> float_islands(const Model& prepared) {
  std::vector<FloatIsland> islands;
  for (const auto& step : passes::quantized_steps(prepared.graph)) {
    if (step.kind == passes::StepKind::real) islands.push_back({step.name(), step.main.info().name});
  }
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

void set_islands(Model& integer, const std::vector<FloatIsland>& islands) {
  if (islands.empty()) return;
  auto names = nlohmann::json::array();
  for (const FloatIsland& island : islands) names.push_back(island.layer);
  integer.notes[kNote] = names.dump();
}

std::set<std::string> islands_of(const Model& integer) {
  const auto note = integer.notes.find(kNote);
  if (note == integer.notes.end()) return {};
  const auto names = nlohmann::json::parse(note->second, nullptr, false);
  if (!names.is_array() || !std::ranges::all_of(names, [](const auto& name) { return name.is_string(); }))
    fail("network '{}': note '{}' is no list of names", integer.graph.name(), kNote);
  return names.get<std::set<std::string>>();
}

}  // namespace halfstep::quant
