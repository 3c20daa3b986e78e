// The extents of x as a list. Some may be dynamic.
#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_shape(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"Input", 0});
  Elements elements{{}, false, node.type() == "shape64" ? DType::i64 : DType::i32};
  for (size_t i = 0; i < x.dims().size(); ++i) elements.values.push_back(extent_of(translator, x, i));
  Operand result;
  if (elements.known())
    result = Translator::known(elements.tensor());
  else
    result.elements = elements;
  translator.set(node, {"Out", 0}, result);
}

}  // namespace halfstep::formats::paddle
