// Returns its input, scaled with downgrade_in_infer, because nothing is dropped outside of training.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_dropout(Translator& translator, const Node& node) {
  node.input({"Seed", 1});  // only used in training
  const Operand x = translator.require(node, {"X", 0});
  const double share = node.numbers_slots() ? translator.number(node, "p", 2, 0.5) : node.real("dropout_prob", 0.5);
  if (!node.flag("is_test", false) && share != 0)
    fail(errors::form_not_supported(node.where(), "a node for training", "a node for evaluation",
                                    "export the network for evaluation"));
  const std::string mode = node.text(node.numbers_slots() ? "mode" : "dropout_implementation", "downgrade_in_infer");
  Operand result = x;
  if (mode == "downgrade_in_infer" && share != 0)
    result = translator.make_one(node, "mul", {x, Translator::known(filled(x.type().dtype, {}, 1 - share))});
  else if (mode != "downgrade_in_infer" && mode != "upscale_in_train")
    fail(errors::form_not_supported(node.where(), "mode " + quote(mode), "downgrade_in_infer or upscale_in_train", ""));
  translator.set(node, {"Out", 0}, result);
}

}  // namespace halfstep::formats::paddle
