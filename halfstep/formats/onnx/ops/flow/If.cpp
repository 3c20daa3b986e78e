// Inlines the taken branch if the condition is known. Otherwise both branches become regions. If that is not possible,
// inlines the branch that the given inputs select.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

std::vector<const proto::Graph*> branches(Translator& translator, const Node& node) {
  return {&translator.graph_of(node, "then_branch"), &translator.graph_of(node, "else_branch")};
}

void take_branch(Translator& translator, const Node& node, bool with_inputs) {
  const auto both = branches(translator, node);
  const bool condition = translator.decision(node, translator.in(node, 0), with_inputs) != 0;
  translator.set_all(node, translator.inline_graph(node, *both[condition ? 0 : 1], {}));
}

void make_branches(Translator& translator, const Node& node) {
  std::vector<FillRegion> fill;
  for (const proto::Graph* branch : branches(translator, node))
    fill.emplace_back([&, branch](const auto& values) { return translator.inline_graph(node, *branch, values); });
  translator.set_all(node, translator.make_branches(node, translator.in(node, 0), fill));
}

}  // namespace

void translate_If(Translator& translator, const Node& node) {
  const proto::Graph* then = branches(translator, node)[0];
  if (translator.tried_inside(then, [&] { take_branch(translator, node, false); })) return;
  translator.regions_or([&] { make_branches(translator, node); }, [&] { take_branch(translator, node, true); });
}

}  // namespace halfstep::formats::onnx
