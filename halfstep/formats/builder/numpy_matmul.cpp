#include "halfstep/formats/builder/numpy_matmul.h"

#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"

namespace halfstep::formats {

Operand matrix_product(Builder& builder, const Node& node, const Operand& a, const Operand& b) {
  const Dims x = a.dims(), y = b.dims();
  const bool is_empty = std::count(x.begin(), x.end(), 0) > 0;  // a 0 in reshape would keep an extent
  if (is_float(a.type().dtype) && x.size() >= 2 && y.size() >= 2 && !is_empty) {
    if (x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin()))
      return builder.make_one(node, "matmul", {a, b});
    std::vector<Element> extents;
    for (size_t i = 0; i + 1 < x.size(); ++i) extents.push_back(extent_of(builder, a, i));
    const int64_t open = std::count(x.begin(), x.end() - 1, kUnknown);
    const bool are_tried = std::ranges::all_of(extents, [](const Element& e) { return e.tried().has_value(); });
    if (y.size() == 2 && (open <= 1 || (open == 2 && are_tried)) && y[1] != kUnknown && x.back() != kUnknown) {
      extents.emplace_back(y[1]);
      const Operand rows = builder.reshaped(node, a, {-1, x.back()});
      return reshaped_to(builder, node, builder.make_one(node, "matmul", {rows, b}), extents);
    }
  }
  return builder.make_one(node, "matmul_broadcast", {a, b});
}

}  // namespace halfstep::formats
