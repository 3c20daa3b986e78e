// Rows of the weights.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_embedding(Translator& translator, const Node& node) {
  const Operand ids = translator.require(node, {"Ids", 0}), weights = translator.require(node, {"W", 1});
  if (const int64_t padding = node.integer("padding_idx", -1); padding != -1)
    fail(errors::attribute_not_supported(node.where(), fmt::format("padding_idx = {}", padding)));
  translator.set(node, {"Out", 0}, translator.make_one(node, "gather", {weights, ids}, {{"axis", int64_t{0}}}));
}

}  // namespace halfstep::formats::paddle
