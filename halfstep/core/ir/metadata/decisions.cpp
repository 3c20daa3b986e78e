#include "halfstep/core/ir/metadata/decisions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

using Reasons = std::map<std::string, std::string>;

constexpr const char* kFloatOperators = "float_operators";
constexpr const char* kQuantizerReasons = "quantizer_reasons";
constexpr const char* kDeviations = "deviations";
constexpr const char* kEdgeScales = "edge_scales";

void set_note(Model& model, const char* note, const Reasons& reasons) {
  model.notes.erase(note);
  if (!reasons.empty()) model.notes[note] = nlohmann::json(reasons).dump();
}

Reasons read_note(const Model& model, const char* name) {
  const auto note = model.notes.find(name);
  if (note == model.notes.end()) return {};
  const auto reasons = nlohmann::json::parse(note->second, nullptr, false);
  if (!reasons.is_object() || !std::ranges::all_of(reasons, [](const auto& reason) { return reason.is_string(); }))
    fail(errors::note_malformed(model.graph.name(), name, "a list of names with reasons"));
  return reasons.get<Reasons>();
}

}  // namespace

void set_float_operators(Model& model, const FloatOperators& operators) { set_note(model, kFloatOperators, operators); }

FloatOperators float_operators(const Model& model) { return read_note(model, kFloatOperators); }

void set_quantizer_reasons(Model& model, const QuantizerReasons& reasons) {
  set_note(model, kQuantizerReasons, reasons);
}

QuantizerReasons quantizer_reasons(const Model& model) { return read_note(model, kQuantizerReasons); }

void set_deviations(Model& model, const Deviations& deviations) { set_note(model, kDeviations, deviations); }

Deviations deviations(const Model& model) { return read_note(model, kDeviations); }

void set_edge_scales(Model& model, const EdgeScales& scales) {
  model.notes[kEdgeScales] = nlohmann::json(scales).dump();
}

EdgeScales edge_scales(const Model& model) {
  const auto note = model.notes.find(kEdgeScales);
  if (note == model.notes.end()) fail(errors::edge_scales_missing(model.graph.name()));
  const auto scales = nlohmann::json::parse(note->second, nullptr, false);
  if (!scales.is_array() || !std::ranges::all_of(scales, [](const auto& scale) { return scale.is_string(); }))
    fail(errors::note_malformed(model.graph.name(), kEdgeScales, "a list of scales"));
  return scales.get<EdgeScales>();
}

}  // namespace halfstep
