// By the record, without hidden_size, which only repeats an extent of the weights.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_RNN(Translator& translator, const Node& node) {
  constexpr size_t kRecurrentWeights = 2;
  const Operand r = translator.in(node, kRecurrentWeights);
  if (!r.there() || r.dims().size() != 3) fail("{}: found no recurrent weights of 3 extents", node.where());
  const int64_t hidden = r.dims()[2];
  if (node.integer("hidden_size", hidden) != hidden)
    fail("{}: hidden_size is {}, but the weights have {}", node.where(), node.integer("hidden_size", hidden), hidden);
  translator.set_all(node, translator.by_record(node.without("hidden_size"), translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
