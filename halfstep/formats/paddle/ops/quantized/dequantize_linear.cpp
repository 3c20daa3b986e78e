// Translates by the record, without the training state, which has no effect.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_dequantize_linear(Translator& translator, const Node& node) {
  node.input({"InAccum", 3}), node.input({"InState", 4});
  translator.by_record(node, {translator.require(node, {"X", 0}), translator.require(node, {"Scale", 1}),
                              translator.in(node, {"ZeroPoint", 2})});
}

}  // namespace halfstep::formats::paddle
