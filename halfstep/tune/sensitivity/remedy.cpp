#include "halfstep/tune/sensitivity/remedy.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::sensitivity {
namespace {

/// Quotes a word for a shell, because a name can contain any character.
std::string in_quotes(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Whether the operator has another input whose codes have the same scale.
bool shares_scale(Op reader, const ops::FakeQuantize& quantizer) {
  return std::ranges::any_of(passes::activation_inputs(reader), [&](Value input) {
    const auto other = passes::unmoved(input).producer<ops::FakeQuantize>();
    return other && *other != quantizer && passes::scale_tensor(*other) == passes::scale_tensor(quantizer);
  });
}

/// The operators that read the codes, directly or after operators that only move them. Each mover precedes its readers.
std::vector<Op> readers_of(Value codes) {
  std::vector<Op> readers;
  for (const auto& [reader, port] : codes.uses()) {
    readers.push_back(reader);
    if (!passes::moves_codes(reader) || reader.results().size() != 1) continue;
    const std::vector<Op> behind = readers_of(reader.out(0));
    readers.insert(readers.end(), behind.begin(), behind.end());
  }
  return readers;
}

}  // namespace

std::string text_of(const Remedy& remedy) {
  std::string text;
  for (const std::string& value : remedy.values) {
    const size_t name = remedy.option == "--skip-layers" ? value.size()
                        : remedy.option == "--bits"      ? value.rfind('=')
                                                         : 0;
    text += text.empty() ? remedy.option + " " : " " + remedy.option + " ";
    text += name == 0 ? value : in_quotes(value.substr(0, name)) + value.substr(name);
  }
  return text;
}

std::vector<Remedy> remedies_for(const Model& prepared, const CrushedPart& part) {
  const quant::AuditedQuantizer& quantizer = part.quantizer;
  std::vector<Remedy> remedies;
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    const Remedy remedy{option, values};
    if (!values.empty() && std::ranges::find(remedies, remedy) == remedies.end()) remedies.push_back(remedy);
  };
  std::vector<std::string> movers;  // after the layer: float together with it, or quantized before its values split
  if (!quantizer.layer.empty()) movers.push_back(quantizer.layer);
  if (quantizer.is_weight) {
    add("--overrides", {"weights.granularity=channel"});
  } else {
    const ops::FakeQuantize codes(prepared.graph.op(part.name).node());
    for (const Op reader : readers_of(codes.out())) {
      if (shares_scale(reader, codes)) add("--skip-layers", {reader.name()});
      if (passes::moves_codes(reader)) movers.push_back(reader.name());
    }
  }
  if (part.axis >= 0) add("--repair", {"equalize"});
  add("--skip-layers", movers);
  return remedies;
}

}  // namespace halfstep::sensitivity
