// A constant whose value and extents are inputs.
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

void translate_full_with_tensor(Translator& translator, const Node& node) {
  const double value = translator.number(node, "value", 0, 0);
  const std::vector<int64_t> dims = translator.integers(node, "shape", 1);
  translator.set(node, {"Out", 0}, constant(node, dtype_of(node, "dtype"), dims, value));
}

}  // namespace halfstep::formats::paddle
