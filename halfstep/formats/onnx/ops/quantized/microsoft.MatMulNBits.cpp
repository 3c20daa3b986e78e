// A product with weights of 2, 4 or 8 bits in blocks, which are decoded to float once.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

struct Blocked {
  int64_t k, n, bits, block;
  int64_t blocks() const { return ceil_div(k, block); }
};

Blocked blocked_of(const Node& node) {
  const Blocked blocked{node.integer("K", 0), node.integer("N", 0), node.integer("bits", 4),
                        node.integer("block_size", 0)};
  constexpr int64_t kLargest = int64_t{1} << 24;
  const bool fits = blocked.k >= 1 && blocked.n >= 1 && blocked.k <= kLargest && blocked.n <= kLargest &&
                    blocked.block >= 16 && blocked.block <= kLargest;
  if (!fits || (blocked.bits != 2 && blocked.bits != 4 && blocked.bits != 8))
    fail(errors::form_not_supported(
        node.where(),
        fmt::format("K {}, N {}, bits {}, block_size {}", blocked.k, blocked.n, blocked.bits, blocked.block),
        "bits 2, 4 or 8, and blocks of at least 16", ""));
  return blocked;
}

void expect(const Node& node, const Tensor& tensor, const char* what, int64_t count) {
  if (tensor.size() != count)
    fail(errors::wrong_count(node.where(), fmt::format("elements in {}", what), tensor.size(), count));
}

/// Returns code i of a row that starts at byte `row`, lowest bits first.
int code_at(std::span<const uint8_t> bytes, int64_t row, int64_t i, int64_t bits) {
  return bytes[static_cast<size_t>(row + i * bits / 8)] >> (i * bits % 8) & ((1 << bits) - 1);
}

/// Returns [n, k]: (code - zero point) * scale in float32, block by block. The default zero point is the middle code.
Tensor decoded(const Blocked& blocked, const Tensor& codes, const Tensor& scales, const Tensor& zeros) {
  const int64_t code_bytes = blocked.block * blocked.bits / 8, zero_bytes = (blocked.blocks() * blocked.bits + 7) / 8;
  Tensor weights = Tensor::uninitialized(DType::f32, {blocked.n, blocked.k});
  const auto out = weights.data<float>();
  for (int64_t row = 0; row < blocked.n; ++row) {
    for (int64_t i = 0; i < blocked.k; ++i) {
      const int64_t block = i / blocked.block, at = row * blocked.blocks() + block;
      const int code = code_at(codes.data<uint8_t>(), at * code_bytes, i % blocked.block, blocked.bits);
      const int zero = zeros.defined() ? code_at(zeros.data<uint8_t>(), row * zero_bytes, block, blocked.bits)
                                       : 1 << (blocked.bits - 1);
      out[static_cast<size_t>(row * blocked.k + i)] =
          static_cast<float>(code - zero) * static_cast<float>(element(scales, at));
    }
  }
  return weights;
}

}  // namespace

void translate_microsoft_MatMulNBits(Translator& translator, const Node& node) {
  const Blocked blocked = blocked_of(node);
  node.attribute("accuracy_level");  // allows kernels of lower accuracy
  if (node.has_input(4)) fail(errors::input_not_supported(node.where(), "4 (g_idx)"));
  const Operand a = translator.in(node, 0);
  const Tensor codes = translator.contents(translator.in(node, 1)),
               scales = translator.contents(translator.in(node, 2));
  const Tensor zeros = node.has_input(3) ? translator.contents(translator.in(node, 3)) : Tensor();
  if (codes.dtype() != DType::u8 || (zeros.defined() && zeros.dtype() != DType::u8) || a.type().dtype != DType::f32)
    fail(errors::form_not_supported(node.where(), "other types", "float32 values with packed codes and zero points",
                                    ""));
  expect(node, codes, "B", blocked.n * blocked.blocks() * blocked.block * blocked.bits / 8);
  expect(node, scales, "scales", blocked.n * blocked.blocks());
  if (zeros.defined()) expect(node, zeros, "zero_points", blocked.n * ((blocked.blocks() * blocked.bits + 7) / 8));
  Dims rows = a.dims();
  if (rows.empty() || rows.back() != blocked.k)
    fail(errors::wrong_extents(node.where(), "A of " + to_string(a.type()), fmt::format("rows of {}", blocked.k)));
  rows.back() = blocked.n;
  const Operand weights = Translator::known(decoded(blocked, codes, scales, zeros), node.input(1) + ".decoded");
  const Operand flat = translator.reshaped(node, a, {-1, blocked.k});
  Operand y = translator.make_one(node, "linear", {flat, weights, translator.in(node, 5)});
  if (std::count(rows.begin(), rows.end(), kUnknown) > 1)
    fail(errors::depends_on_extents("a product with more than one dynamic dimension"));
  translator.set(node, 0, translator.reshaped(node, y, rows));
}

}  // namespace halfstep::formats::onnx
