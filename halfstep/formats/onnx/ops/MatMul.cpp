// A matrix product; lists become matrices, and leading axes that differ become one or are repeated.
#include <algorithm>

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

/// The leading axes of both, broadcast.
Dims common_batch(const Node& node, const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size()) - 2;
  Dims batch(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const auto extent = [&](const Dims& dims) {
      return i + dims.size() < rank + 2 ? 1 : dims[i + dims.size() - rank - 2];
    };
    const int64_t x = extent(a), y = extent(b);
    if (x == kUnknown || y == kUnknown) throw NeedsExtents(node.where() + ": leading axes depend on open extents");
    if (x != y && x != 1 && y != 1) fail("{}: found the extents {} and {}", node.where(), to_string(a), to_string(b));
    batch[i] = x == 1 ? y : x;
  }
  return batch;
}

Operand expanded(Translator& translator, const Node& node, const Operand& x, Dims batch) {
  const Dims dims = x.dims();
  batch.insert(batch.end(), dims.end() - 2, dims.end());
  if (batch == dims) return x;
  if (count_elements(batch) == count_elements(dims)) return translator.reshaped(node, x, batch);
  return translator.make_one(node, "expand", {x}, {{"dims", batch}});
}

/// Of matrices, or batches of them.
Operand product_of(Translator& translator, const Node& node, Operand a, Operand b) {
  const Dims x = a.dims(), y = b.dims();
  if (x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin()))
    return translator.make_one(node, "matmul", {a, b});
  const auto open = std::count(x.begin(), x.end() - 1, kUnknown);
  if (y.size() == 2 && open <= 1) {  // all rows of a at once
    Dims result(x.begin(), x.end() - 1);
    result.push_back(y[1]);
    const Operand rows = translator.reshaped(node, a, {-1, x.back()});
    return translator.reshaped(node, translator.make_one(node, "matmul", {rows, b}), result);
  }
  const Dims batch = common_batch(node, x, y);
  return translator.make_one(node, "matmul",
                             {expanded(translator, node, a, batch), expanded(translator, node, b, batch)});
}

}  // namespace

void translate_MatMul(Translator& translator, const Node& node) {
  Operand a = translator.in(node, 0), b = translator.in(node, 1);
  if (!a.there() || !b.there() || a.dims().empty() || b.dims().empty()) fail("{}: expected two matrices", node.where());
  const bool is_row = a.dims().size() == 1, is_column = b.dims().size() == 1;
  if (is_row) a = translator.reshaped(node, a, {1, a.dims()[0]});
  if (is_column) b = translator.reshaped(node, b, {b.dims()[0], 1});
  Operand product = product_of(translator, node, a, b);
  if (is_row || is_column) {
    Dims dims = product.dims();
    if (is_column) dims.pop_back();
    if (is_row) dims.erase(dims.end() - (is_column ? 1 : 2));
    product = translator.reshaped(node, product, dims);
  }
  translator.set(node, 0, product);
}

}  // namespace halfstep::formats::onnx
