#include "halfstep/formats/onnx/class_loss.h"

#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats::onnx {
namespace {

/// Inserts operators for this node.
class Maker {
 public:
  Maker(Translator& translator, const Node& node) : translator_(translator), node_(node) {}
  Operand operator()(std::string_view op, std::vector<Operand> operands, Attributes attributes = {}) const {
    return translator_.make_one(node_, op, std::move(operands), std::move(attributes));
  }
  Operand sum(const Operand& x) const {
    return (*this)("reduce_sum", {x}, {{"axes", std::vector<int64_t>{}}, {"keep_dims", false}});
  }

 private:
  Translator& translator_;
  const Node& node_;
};

Operand number(DType dtype, double value) { return Translator::known(filled(dtype, {}, value)); }

}  // namespace

Operand class_loss(Translator& translator, const Node& node, const Operand& log_probabilities) {
  const Maker make(translator, node);
  const DType dtype = log_probabilities.type().dtype;
  Operand target = translator.in(node, 1), weights = translator.in(node, 2);
  if (!target.there()) fail(errors::part_missing(node.where(), "the target"));
  const DType index = target.type().dtype;
  Operand ignored;
  if (node.attribute("ignore_index") != nullptr) {
    ignored = make("equal", {target, number(index, static_cast<double>(node.integer("ignore_index", 0)))});
    target = make("select", {ignored, number(index, 0), target});
  }
  const std::vector<int64_t> classes = {1};
  const Operand indices = make("unsqueeze", {target}, {{"axes", classes}});
  Operand loss = make("gather_elements", {log_probabilities, indices}, {{"axis", int64_t{1}}});
  loss = make("mul", {make("squeeze", {loss}, {{"axes", classes}}), number(dtype, -1)});

  Operand weight;
  if (weights.there()) weight = make("gather", {weights, target}, {{"axis", int64_t{0}}});
  if (ignored.there()) {
    const Operand one = weight.there() ? weight : number(dtype, 1);
    weight = make("select", {ignored, number(dtype, 0), one});
    loss = make("select", {ignored, number(dtype, 0), loss});
  }
  if (weight.there()) loss = make("mul", {loss, weight});
  const std::string reduction = node.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return make.sum(loss);
  if (reduction != "mean")
    fail(errors::form_not_supported(node.where(), "reduction " + quote(reduction), "none, sum or mean", ""));
  if (weight.there()) return make("div", {make.sum(loss), make.sum(weight)});
  return make("reduce_mean", {loss}, {{"axes", std::vector<int64_t>{}}, {"keep_dims", false}});
}

}  // namespace halfstep::formats::onnx
