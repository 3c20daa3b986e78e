#include "halfstep/ir/float_operators.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"

namespace halfstep {
namespace {

constexpr const char* kNote = "float_operators";

}  // namespace

void set_float_operators(Model& model, const FloatOperators& operators) {
  model.notes.erase(kNote);
  if (!operators.empty()) model.notes[kNote] = nlohmann::json(operators).dump();
}

FloatOperators float_operators(const Model& model) {
  const auto note = model.notes.find(kNote);
  if (note == model.notes.end()) return {};
  const auto reasons = nlohmann::json::parse(note->second, nullptr, false);
  if (!reasons.is_object() || !std::ranges::all_of(reasons, [](const auto& reason) { return reason.is_string(); }))
    fail("network '{}': note '{}' is no list of operators with reasons", model.graph.name(), kNote);
  return reasons.get<FloatOperators>();
}

}  // namespace halfstep
