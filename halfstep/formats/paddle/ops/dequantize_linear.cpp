// By the record; the state of training, which it never reads, is left out.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_dequantize_linear(Translator& translator, const Node& node) {
  constexpr size_t kRead = 3;  // x, scale, zero_point
  node.input({"InAccum", 3}), node.input({"InState", 4});
  translator.by_record(node, kRead);
}

}  // namespace halfstep::formats::paddle
