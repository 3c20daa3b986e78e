// QONNX's quantizer, whose bit width is a tensor: quantizes and dequantizes between bounds that need not be the bounds
// of a type.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

struct Bounds {
  double lowest, highest;
};

/// Returns the range of codes of `bits` bits. A narrow range excludes the lowest signed code, or the highest unsigned
/// one.
Bounds bounds_of(double bits, bool is_signed, bool is_narrow) {
  if (!is_signed) return {0, std::exp2(bits) - 1 - (is_narrow ? 1 : 0)};
  return {-std::exp2(bits - 1) + (is_narrow ? 1 : 0), std::exp2(bits - 1) - 1};
}

}  // namespace

void translate_qonnx_Quant(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), scale = translator.in(node, 1);
  const Tensor zero = translator.contents(translator.in(node, 2)), bits = translator.contents(translator.in(node, 3));
  if (bits.size() != 1)
    fail(errors::form_not_supported(node.where(), "a bit width for each element", "one bit width", ""));
  if (node.text("rounding_mode", "ROUND") != "ROUND")
    fail(errors::form_not_supported(node.where(), "rounding_mode " + quote(node.text("rounding_mode", "")), "ROUND",
                                    ""));
  const double width = element(bits, 0);
  if (!(width >= 1 && width <= 24))
    fail(errors::form_not_supported(node.where(), fmt::format("a bit width of {}", width), "1 to 24", ""));
  const Bounds bounds = bounds_of(width, node.integer("signed", 1) != 0, node.integer("narrow", 0) != 0);
  // Codes are in float32, which is exact up to 24 bits. The zero point is added outside of the rounding.
  const auto number = [&](double value) { return Translator::known(filled(DType::f32, {}, value)); };
  const Operand minus = Translator::known(zero);
  Operand codes = translator.make_one(node, "div", {x, scale});
  const bool has_zero =
      std::any_of(zero.raw(), zero.raw() + zero.bytes(), [](std::byte b) { return b != std::byte{0}; });
  if (has_zero) codes = translator.make_one(node, "add", {codes, minus});
  codes = translator.make_one(node, "clip", {codes, number(bounds.lowest), number(bounds.highest)});
  codes = translator.make_one(node, "round", {codes});
  if (has_zero) codes = translator.make_one(node, "sub", {codes, minus});
  translator.set(node, 0, translator.make_one(node, "mul", {codes, scale}));
  translator.note_quantizer(node);
}

}  // namespace halfstep::formats::onnx
