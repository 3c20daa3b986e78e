// The mean over all spatial axes.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_GlobalAveragePool(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  if (!x.there() || x.dims().size() < 3)
    fail(errors::wrong_extents(node.where(), "", "an input of at least 3 extents"));
  if (x.dims().size() == 4) return translator.by_record(node);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < x.dims().size(); ++i) axes.push_back(static_cast<int64_t>(i));
  translator.set(node, 0, translator.make_one(node, "reduce_mean", {x}, {{"axes", axes}, {"keep_dims", true}}));
}

}  // namespace halfstep::formats::onnx
