#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

using ops::FakeQuantize;

/// The value with this name, or the first result of the operation with this name.
Value value_of(const Graph& graph, const std::string& name) {
  if (const Value value = graph.value(name)) return value;
  const Op op = graph.op(name);
  return op && !op.results().empty() ? op.out(0) : Value();
}

std::string our_name(const Model& model, const std::string& name) {
  for (const auto& [ours, given] : model.metadata.given_names) {
    if (given == name) return ours;
  }
  return name;
}

/// Adds the readers of `value`, through quantizers. Observers are skipped, because they compute nothing.
void add_readers(Value value, std::vector<std::string>& readers) {
  for (const auto& [reader, operand] : value.uses()) {
    if (passes::has_trait(reader, Trait::observer)) continue;
    if (const auto quantizer = reader.is<FakeQuantize>() ? std::optional(FakeQuantize(reader.node())) : std::nullopt) {
      add_readers(quantizer->out(), readers);
    } else {
      readers.push_back(fmt::format("{} '{}'", reader.info().name, reader.name()));
    }
  }
}

std::string codes_behind(Value value) {
  const auto quantizer = passes::unmoved(value).producer<FakeQuantize>();
  return quantizer && quantizer->x() != value ? quantizer->x().name() : "";
}

}  // namespace

TensorStory story_of(const Model& prepared, const Audit& audit, const std::string& name) {
  TensorStory story{name, {}, nullptr, "", {}};
  Value value = value_of(prepared.graph, our_name(prepared, name));
  for (const AuditedQuantizer& quantizer : audit.quantizers) {
    const bool is_layers = !quantizer.is_weight && quantizer.layer == name;
    if (quantizer.tensor == name || is_layers || (value && !quantizer.is_weight && quantizer.layer == value.name()))
      story.quantizers.push_back(&quantizer);
  }
  if (!story.quantizers.empty()) {  // for a layer's result: the quantized value
    story.tensor = story.quantizers[0]->tensor;
    if (const Value coded = value_of(prepared.graph, our_name(prepared, story.tensor))) value = coded;
  }
  if (!value && story.quantizers.empty()) {
    std::vector<std::string> names;
    for (const AuditedQuantizer& quantizer : audit.quantizers) names.push_back(quantizer.tensor);
    for (const FloatFallback& fallback : audit.in_float) names.push_back(fallback.layer);
    fail(errors::tensor_unknown(prepared.graph.name(), name, known_names(name, names)));
  }
  if (!value) return story;
  add_readers(value, story.goes_to);
  const Op producer = value.producer();
  const auto fallback = std::ranges::find_if(
      audit.in_float, [&](const FloatFallback& one) { return producer && one.layer == producer.name(); });
  if (fallback != audit.in_float.end()) story.in_float = &*fallback;
  if (story.quantizers.empty() && producer) story.has_codes_of = codes_behind(value);
  return story;
}

}  // namespace halfstep::quant
