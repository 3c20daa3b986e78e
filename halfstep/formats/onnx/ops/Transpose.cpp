// Permutes axes, in reverse order by default.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Transpose(Translator& translator, const Node& node) {
  if (node.attribute("perm") != nullptr) return translator.by_record(node);
  std::vector<int64_t> perm(translator.in(node, 0).dims().size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
  translator.set_all(node, translator.by_record(node.with("perm", perm), translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
