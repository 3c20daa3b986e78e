#include "halfstep/core/ir/metadata/normalization.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Normalization, layer, weight, bias, raw_weight, raw_bias, scale, shift, mean,
                                   variance, epsilon, momentum, live)

namespace {

constexpr const char* kNote = "normalizations";

}  // namespace

void set_normalizations(Model& model, const std::vector<Normalization>& all) {
  model.notes.erase(kNote);
  if (!all.empty()) model.notes[kNote] = nlohmann::json(all).dump();
}

std::vector<Normalization> normalizations(const Model& model) {
  const auto note = model.notes.find(kNote);
  if (note == model.notes.end()) return {};
  std::vector<Normalization> all;
  try {
    all = nlohmann::json::parse(note->second).get<std::vector<Normalization>>();
  } catch (const nlohmann::json::exception&) {
    fail(errors::note_malformed(model.graph.name(), kNote, "a list of normalizations"));
  }
  for (const Normalization& one : all) {
    for (const std::string& name :
         {one.weight, one.bias, one.raw_weight, one.raw_bias, one.scale, one.shift, one.mean, one.variance}) {
      if (!name.empty() && !model.tensors.contains(name))
        fail(errors::note_without_tensor(model.graph.name(), kNote, fmt::format("layer '{}'", one.layer), name));
    }
  }
  return all;
}

}  // namespace halfstep
