#include "halfstep/core/ir/metadata/learned_quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

constexpr const char* kQuantizersNote = "learned_quantizers";

constexpr QuantizerTraits kKinds[] = {
    {"fixed", true, true},
    {"lsq", true, true, true},
    {"lsq_plus", true, true, true},
    {"pact", false, true},
    {"dorefa", true, false},
    {"dsq", true, true},
    {"tqt", true, true},
    {"nnie", true, true, false, "its codes are logarithms, which no operator on codes multiplies"},
    {"adaround", true, false},
    {"qdrop", false, true, true},
    {"apot", true, true, true, "its codes name sums of powers of two, which no operator on codes adds up"},
};

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearnedQuantizer, kind, scale, zero_point, offset, low, high, log2_scale, weight,
                                   raw, choice, number)

void to_json(nlohmann::json& json, QuantizerKind kind) { json = traits_of(kind).name; }
void from_json(const nlohmann::json& json, QuantizerKind& kind) {
  kind = parse_quantizer_kind(json.get<std::string>());
}

std::span<const QuantizerTraits> quantizer_kinds() { return kKinds; }

QuantizerKind parse_quantizer_kind(std::string_view name) {
  const auto* row = std::ranges::find_if(kKinds, [&](const QuantizerTraits& one) { return one.name == name; });
  if (row != std::end(kKinds)) return static_cast<QuantizerKind>(row - kKinds);
  std::vector<std::string> known;
  for (const QuantizerTraits& one : kKinds) known.emplace_back(one.name);
  fail(errors::unknown_name("quantizer", name, fmt::format("one of {} kinds", known.size()),
                            did_you_mean(std::string(name), known)));
}

void set_learned_quantizers(Model& model, const std::vector<LearnedQuantizer>& all) {
  model.notes.erase(kQuantizersNote);
  if (!all.empty()) model.notes[kQuantizersNote] = nlohmann::json(all).dump();
}

std::vector<LearnedQuantizer> learned_quantizers(const Model& model) {
  const auto note = model.notes.find(kQuantizersNote);
  if (note == model.notes.end()) return {};
  std::vector<LearnedQuantizer> all;
  try {
    all = nlohmann::json::parse(note->second).get<std::vector<LearnedQuantizer>>();
  } catch (const nlohmann::json::exception&) {
    fail(errors::note_malformed(model.graph.name(), kQuantizersNote, "a list of quantizers"));
  }
  for (const LearnedQuantizer& one : all) {
    for (const std::string& name :
         {one.scale, one.zero_point, one.offset, one.low, one.high, one.log2_scale, one.weight, one.raw, one.choice}) {
      if (!name.empty() && !model.tensors.contains(name))
        fail(errors::note_without_tensor(model.graph.name(), kQuantizersNote,
                                         fmt::format("a quantizer of kind {}", traits_of(one.kind).name), name));
    }
  }
  return all;
}

}  // namespace halfstep
