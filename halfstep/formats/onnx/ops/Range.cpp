// Numbers from start on in steps, before limit, all known.
#include "halfstep/formats/range.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Range(Translator& translator, const Node& node) {
  Tensor in[3];
  for (size_t i = 0; i < 3; ++i) in[i] = translator.contents(translator.in(node, i));
  translator.set(node, 0, Translator::known(range(node, in[0], in[1], in[2])));
}

}  // namespace halfstep::formats::onnx
