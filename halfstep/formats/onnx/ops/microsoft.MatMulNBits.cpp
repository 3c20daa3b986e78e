// A product with weights of 2, 4 or 8 bits in blocks, which are decoded to float once.
#include <algorithm>

#include "halfstep/base/divide.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

struct Form {
  int64_t k, n, bits, block;
  int64_t blocks() const { return ceil_div(k, block); }
};

Form form_of(const Node& node) {
  const Form form{node.integer("K", 0), node.integer("N", 0), node.integer("bits", 4), node.integer("block_size", 0)};
  constexpr int64_t kLargest = int64_t{1} << 24;
  const bool fits = form.k >= 1 && form.n >= 1 && form.k <= kLargest && form.n <= kLargest && form.block >= 16 &&
                    form.block <= kLargest;
  if (!fits || (form.bits != 2 && form.bits != 4 && form.bits != 8))
    Translator::refuse(node, fmt::format("K {}, N {}, bits {}, block_size {} is not supported", form.k, form.n,
                                         form.bits, form.block));
  return form;
}

void expect(const Node& node, const Tensor& tensor, const char* what, int64_t count) {
  if (tensor.size() != count) fail("{}: {} has {} elements, expected {}", node.where(), what, tensor.size(), count);
}

/// Code i of a row that starts at byte `row`, lowest bits first.
int code_at(std::span<const uint8_t> bytes, int64_t row, int64_t i, int64_t bits) {
  return bytes[static_cast<size_t>(row + i * bits / 8)] >> (i * bits % 8) & ((1 << bits) - 1);
}

/// [n, k]: (code - zero point) * scale in float32, block by block; a zero point that is not there is the middle.
Tensor decoded(const Form& form, const Tensor& codes, const Tensor& scales, const Tensor& zeros) {
  const int64_t code_bytes = form.block * form.bits / 8, zero_bytes = (form.blocks() * form.bits + 7) / 8;
  Tensor weights = Tensor::uninitialized(DType::f32, {form.n, form.k});
  const auto out = weights.data<float>();
  for (int64_t row = 0; row < form.n; ++row) {
    for (int64_t i = 0; i < form.k; ++i) {
      const int64_t block = i / form.block, at = row * form.blocks() + block;
      const int code = code_at(codes.data<uint8_t>(), at * code_bytes, i % form.block, form.bits);
      const int zero =
          zeros.defined() ? code_at(zeros.data<uint8_t>(), row * zero_bytes, block, form.bits) : 1 << (form.bits - 1);
      out[static_cast<size_t>(row * form.k + i)] =
          static_cast<float>(code - zero) * static_cast<float>(element(scales, at));
    }
  }
  return weights;
}

}  // namespace

void translate_microsoft_MatMulNBits(Translator& translator, const Node& node) {
  const Form form = form_of(node);
  node.attribute("accuracy_level");  // how coarse a kernel may be
  if (node.has_input(4)) Translator::refuse(node, "input 4 (g_idx) is not supported");
  const Operand a = translator.in(node, 0);
  const Tensor codes = translator.contents(translator.in(node, 1)),
               scales = translator.contents(translator.in(node, 2));
  const Tensor zeros = node.has_input(3) ? translator.contents(translator.in(node, 3)) : Tensor();
  if (codes.dtype() != DType::u8 || (zeros.defined() && zeros.dtype() != DType::u8) || a.type().dtype != DType::f32)
    Translator::refuse(node, "only float32 values with packed codes and zero points are supported");
  expect(node, codes, "B", form.n * form.blocks() * form.block * form.bits / 8);
  expect(node, scales, "scales", form.n * form.blocks());
  if (zeros.defined()) expect(node, zeros, "zero_points", form.n * ((form.blocks() * form.bits + 7) / 8));
  Dims rows = a.dims();
  if (rows.empty() || rows.back() != form.k) fail("{}: found A of {}", node.where(), to_string(a.type()));
  rows.back() = form.n;
  const Operand weights = Translator::known(decoded(form, codes, scales, zeros), node.input(1) + ".decoded");
  const Operand flat = translator.reshaped(node, a, {-1, form.k});
  Operand y = translator.make_one(node, "linear", {flat, weights, translator.in(node, 5)});
  if (std::count(rows.begin(), rows.end(), kUnknown) > 1)
    throw NeedsExtents(node.where() + ": more than one extent is open");
  translator.set(node, 0, translator.reshaped(node, y, rows));
}

}  // namespace halfstep::formats::onnx
