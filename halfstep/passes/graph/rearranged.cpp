#include "halfstep/passes/graph/rearranged.h"

namespace halfstep::passes {

Tensor rearranged(const Tensor& tensor, const std::vector<int64_t>& perm, const std::vector<bool>& flipped) {
  const Dims& dims = tensor.dims();
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  Dims extents;
  for (const int64_t axis : perm) extents.push_back(dims[static_cast<size_t>(axis)]);
  Tensor made(tensor.dtype(), extents);
  const auto from = tensor.data<float>();
  const auto to = made.data<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t source = 0;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const int64_t place = rest % extents[axis];
      rest /= extents[axis];
      const bool turns = !flipped.empty() && flipped[axis];
      source += strides[static_cast<size_t>(perm[axis])] * (turns ? extents[axis] - 1 - place : place);
    }
    to[i] = from[static_cast<size_t>(source)];
  }
  return made;
}

}  // namespace halfstep::passes
