// The branch that is taken, in its place.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_If(Translator& translator, const Node& node) {
  const auto* branch = &translator.graph_of(node, "then_branch");
  const auto* other = &translator.graph_of(node, "else_branch");
  try {
    const auto condition = translator.integers(node, translator.in(node, 0));
    if (condition.size() != 1) fail("{}: found a condition of {} elements", node.where(), condition.size());
    if (condition[0] == 0) branch = other;
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.note(node, error);
    translator.inline_graph(node, *branch, {});
    translator.inline_graph(node, *other, {});
    return translator.lose(node);
  }
  translator.set_all(node, translator.inline_graph(node, *branch, {}));
}

}  // namespace halfstep::formats::onnx
