// Positions of nonzero elements of a known tensor: [rank, count].
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_NonZero(Translator& translator, const Node& node) {
  const Tensor x = translator.contents(translator.in(node, 0));
  const Dims& dims = x.dims();
  if (dims.empty()) fail(errors::form_not_supported(node.where(), "a single number", "a value with an axis", ""));
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (element(x, i) != 0) found.push_back(i);
  }
  const auto count = static_cast<int64_t>(found.size());
  Tensor places(DType::i64, {static_cast<int64_t>(dims.size()), count});
  const auto out = places.data<int64_t>();
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = found[static_cast<size_t>(k)];
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      out[static_cast<size_t>(static_cast<int64_t>(axis) * count + k)] = rest % dims[axis];
  }
  translator.set(node, 0, Translator::known(places));
}

}  // namespace halfstep::formats::onnx
