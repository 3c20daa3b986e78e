// A part of x along some axes, in steps, without the axes in decrease_axis.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_strided_slice(Translator& translator, const Node& node) {
  const std::vector<int64_t> starts = translator.integers(node, "starts", 1),
                             ends = translator.integers(node, "ends", 2);
  translate_slice(translator, node, starts, ends, translator.integers(node, "strides", 3));
}

}  // namespace halfstep::formats::paddle
