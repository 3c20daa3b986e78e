// A list of integers.
#include <algorithm>

#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_full_int_array(Translator& translator, const Node& node) {
  const std::vector<int64_t> values = node.integers("value");
  Tensor tensor(dtype_of(node, "dtype"), {static_cast<int64_t>(values.size())});
  if (tensor.dtype() == DType::i64) {
    std::ranges::copy(values, tensor.data<int64_t>().begin());
  } else {
    for (size_t i = 0; i < values.size(); ++i) store(tensor, static_cast<int64_t>(i), static_cast<double>(values[i]));
  }
  translator.set(node, {"Out", 0}, Translator::known(tensor));
}

}  // namespace halfstep::formats::paddle
