// Pads each axis with a number before and after its elements.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_pad(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const std::vector<int64_t> paddings = node.integers("paddings");  // before and after axis 0, then axis 1
  if (paddings.size() != 2 * x.dims().size())
    fail(errors::wrong_count(node.where(), "paddings", paddings.size(),
                             fmt::format("two for each of {}", to_string(x.dims()))));
  std::vector<int64_t> pads;
  for (size_t i = 0; i < paddings.size(); i += 2) pads.push_back(paddings[i]);
  for (size_t i = 1; i < paddings.size(); i += 2) pads.push_back(paddings[i]);
  const double value = node.numbers_slots() ? translator.number(node, "value", 1, 0) : node.real("pad_value", 0);
  const Operand padding = Translator::known(filled(x.type().dtype, {}, value));
  translator.set(node, {"Out", 0}, translator.make_one(node, "pad", {x, padding}, {{"pads", pads}}));
}

}  // namespace halfstep::formats::paddle
