// Casts to the element type of the second input.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_CastLike(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), like = translator.in(node, 1);
  if (!x.there() || !like.there()) fail(errors::part_missing(node.where(), "one of two inputs"));
  if (x.type().dtype == like.type().dtype) return translator.set(node, 0, x);
  translator.set(node, 0,
                 translator.make_one(
                     node, "cast", {x},
                     {{"to", std::string(name(like.type().dtype))}, {"saturate", node.integer("saturate", 1) != 0}}));
}

}  // namespace halfstep::formats::onnx
