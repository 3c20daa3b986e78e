// Numbers from start on in steps, before end, all known.
#include "halfstep/formats/paddle/translator.h"
#include "halfstep/formats/range.h"

namespace halfstep::formats::paddle {

void translate_arange(Translator& translator, const Node& node) {
  node.attribute("dtype");  // that of the inputs
  const Tensor start = translator.contents(translator.require(node, {"Start", 0}));
  const Tensor end = translator.contents(translator.require(node, {"End", 1}));
  const Tensor step = translator.contents(translator.require(node, {"Step", 2}));
  translator.set(node, {"Out", 0}, Translator::known(range(node, start, end, step)));
}

}  // namespace halfstep::formats::paddle
