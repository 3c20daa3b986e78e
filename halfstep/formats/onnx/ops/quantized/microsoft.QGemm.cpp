// A linear layer on codes: the convolution on codes with windows of one element, whose bias is int32 too.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_microsoft_QGemm(Translator& translator, const Node& node) {
  enum { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };
  std::vector<Operand> in;
  for (size_t i = kA; i <= kYZero; ++i) in.push_back(translator.in(node, i));
  if (const double alpha = node.real("alpha", 1); alpha != 1)
    fail(errors::form_not_supported(node.where(), fmt::format("alpha {}", alpha), "1",
                                    "multiply its scale a_scale by it"));
  if (node.integer("transA", 0) != 0)
    fail(errors::form_not_supported(node.where(), "transA = 1", "transA = 0", "transpose its input before it"));
  if (!in[kYScale].there() || !in[kYZero].there())
    fail(errors::form_not_supported(node.where(), "a float result", "codes",
                                    "add y_scale and y_zero_point, and a DequantizeLinear after it"));
  if (in[kA].dims().size() != 2 || in[kB].dims().size() != 2)
    fail(errors::wrong_extents(node.where(), "", "two matrices"));
  if (node.integer("transB", 0) == 0)
    in[kB] = translator.make_one(node, "transpose", {in[kB]}, {{"perm", std::vector<int64_t>{1, 0}}});
  const auto plane = [&](const Operand& x) {
    return translator.reshaped(node, x, {x.dims()[0] == kUnknown ? 0 : x.dims()[0], x.dims()[1], 1, 1});
  };
  const Operand y = translator.make_one(node, "qlinear_conv",
                                        {plane(in[kA]), in[kAScale], in[kAZero], plane(in[kB]), in[kBScale], in[kBZero],
                                         in[kYScale], in[kYZero], in[kC]});
  translator.set(node, 0, translator.reshaped(node, y, {0, -1}));
}

}  // namespace halfstep::formats::onnx
