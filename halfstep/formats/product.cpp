#include "halfstep/formats/product.h"

#include <algorithm>

namespace halfstep::formats {

Operand matrix_product(Builder& builder, const Node& node, const Operand& a, const Operand& b) {
  const Dims x = a.dims(), y = b.dims();
  const bool is_empty = std::count(x.begin(), x.end(), 0) > 0;  // where a 0 of reshape would keep an extent
  if (is_float(a.type().dtype) && x.size() >= 2 && y.size() >= 2 && !is_empty) {
    if (x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin()))
      return builder.make_one(node, "matmul", {a, b});
    if (y.size() == 2 && std::count(x.begin(), x.end() - 1, kUnknown) <= 1 && x.back() != kUnknown) {
      Dims result(x.begin(), x.end() - 1);
      result.push_back(y[1]);
      const Operand rows = builder.reshaped(node, a, {-1, x.back()});
      return builder.reshaped(node, builder.make_one(node, "matmul", {rows, b}), result);
    }
  }
  return builder.make_one(node, "matmul_broadcast", {a, b});
}

}  // namespace halfstep::formats
