// The extents of x as a list, of which some may be open.
#include <algorithm>

#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_shape(Translator& translator, const Node& node) {
  const Dims dims = translator.require(node, {"Input", 0}).dims();
  Elements elements{{}, false, node.type() == "shape64" ? DType::i64 : DType::i32};
  for (const int64_t extent : dims) elements.values.push_back(extent == kUnknown ? Element() : Element(extent));
  Operand result;
  if (elements.known())
    result = Translator::known(elements.tensor());
  else
    result.elements = elements;
  translator.set(node, {"Out", 0}, result);
}

}  // namespace halfstep::formats::paddle
