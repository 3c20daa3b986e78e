// Translates by the record, with the statistics as results if needed, in float32 or in the type of stash_type.
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_LayerNormalization(Translator& translator, const Node& node) {
  if (!node.has_output(1) && !node.has_output(2)) return translator.by_record(node.without("stash_type"));
  const DType statistics = dtype_of(node.integer("stash_type", 1), node.where());
  const Attributes attributes = {{"axis", node.integer("axis", -1)},
                                 {"epsilon", node.real("epsilon", 1e-5F)},
                                 {"with_statistics", true},
                                 {"statistics", std::string(name(statistics))}};
  translator.set_all(node, translator.make(node, "layer_norm", translator.inputs(node), attributes));
}

}  // namespace halfstep::formats::onnx
