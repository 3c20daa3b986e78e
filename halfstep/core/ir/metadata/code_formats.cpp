#include "halfstep/core/ir/metadata/code_formats.h"

#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

constexpr const char* kCodeFormats = "code_formats";

}  // namespace

void set_code_formats(Model& model, const CodeFormats& formats) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, codes] : formats)
    json[name] = {codes.scale, codes.zero_point, codes.code_min, codes.code_max};
  model.notes[kCodeFormats] = json.dump();
}

CodeFormats code_formats(const Model& model) {
  const auto note = model.notes.find(kCodeFormats);
  if (note == model.notes.end()) return {};
  try {
    CodeFormats formats;
    const auto json = nlohmann::json::parse(note->second);
    for (const auto& [name, codes] : json.items())
      formats[name] = {codes.at(0).get<float>(), codes.at(1).get<int64_t>(), codes.at(2).get<int64_t>(),
                       codes.at(3).get<int64_t>()};
    return formats;
  } catch (const nlohmann::json::exception&) {
    fail(errors::note_malformed(model.graph.name(), kCodeFormats, "a list of values with scale, zero point and codes"));
  }
}

}  // namespace halfstep
