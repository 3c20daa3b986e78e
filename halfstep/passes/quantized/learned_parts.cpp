#include "halfstep/passes/quantized/learned_parts.h"

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/normalizations.h"

namespace halfstep::passes {

LearnedParts learned_parts(const Model& model) {
  LearnedParts parts;
  for (const Normalization& norm : model.metadata.normalizations) {
    parts.learned.insert({norm.raw_weight, norm.raw_bias, norm.scale, norm.shift, norm.mean, norm.variance});
    parts.settled.insert({norm.weight, norm.bias});
  }
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) {
    parts.learned.insert({one.offset, one.low, one.high, one.log2_scale, one.raw, one.choice});
    for (const auto& [argument, tensor] : one.tensors) parts.learned.insert(tensor);
    parts.settled.insert(one.weight);
    const bool moves_scale = !one.high.empty() || !one.log2_scale.empty();
    if (moves_scale) parts.settled.insert(one.scale);
    if (!one.high.empty() || !one.offset.empty()) parts.settled.insert(one.zero_point);
  }
  for (auto* names : {&parts.learned, &parts.settled})
    names->erase("");  // empty names of tensors that a kind does not have
  return parts;
}

void settle_learned_parts(Model& model) {
  settle_normalizations(model);
  settle_quantizers(model);
}

void close_learned_parts(Model& model) {
  close_normalizations(model);
  close_quantizers(model);
}

}  // namespace halfstep::passes
