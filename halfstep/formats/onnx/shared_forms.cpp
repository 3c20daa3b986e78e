#include "halfstep/formats/onnx/shared_forms.h"

#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/errors.h"

namespace halfstep::formats::onnx {
namespace {

Padding padding_of(const Node& node) {
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return Padding::given;
  if (automatic == "VALID") return Padding::none;
  if (automatic == "SAME_UPPER") return Padding::same_upper;
  if (automatic == "SAME_LOWER") return Padding::same_lower;
  fail(errors::wrong_attribute_word(node.where(), "auto_pad", quote(automatic)));
}

/// If strides skip more than one element between windows, the formula of the specification becomes negative. Some
/// runtimes then begin inside the input, others at its first element.
void require_common_padding(const Node& node, const WindowSpec& spec) {
  if (spec.padding != Padding::same_upper && spec.padding != Padding::same_lower) return;
  for (size_t axis = 0; axis < std::min(spec.kernel.size(), spec.strides.size()); ++axis) {
    if (spec.strides[axis] > spec.kernel[axis] + 1)
      fail(errors::auto_pad_ambiguous(node.where(), node.text("auto_pad", ""), spec.strides[axis], spec.kernel[axis]));
  }
}

}  // namespace

std::vector<int64_t> kernel_of(const Node& node, const Operand& weights) {
  if (!weights.there() || weights.dims().size() < 3)
    fail(errors::wrong_extents(node.where(), "", "weights of at least 3 extents"));
  const Dims weight = weights.dims();
  std::vector<int64_t> kernel(weight.begin() + 2, weight.end());
  if (const auto said = node.integers("kernel_shape"); said && *said != kernel)
    fail(errors::attribute_not_that_of_weights(node.where(), "kernel_shape", to_string(*said), to_string(kernel)));
  return kernel;
}

Window window_of(const Node& node, const Dims& dims, std::vector<int64_t> kernel) {
  const auto list = [&](const char* name) { return node.integers(name).value_or(std::vector<int64_t>()); };
  WindowSpec spec{std::move(kernel), list("strides"),  list("dilations"),
                  list("pads"),      padding_of(node), node.integer("ceil_mode", 0) != 0};
  require_common_padding(node, spec);
  return window_of(node, dims, std::move(spec));
}

void translate_pool(Translator& translator, const Node& node, std::string_view plane, std::string_view general,
                    const Attributes& attributes, bool counts_padding) {
  const Operand x = translator.in(node, 0);
  const int64_t order = node.integer("storage_order", 0);  // only affects indices
  const auto kernel = node.integers("kernel_shape");
  if (!x.there() || !kernel) fail(errors::part_missing(node.where(), "an input or the kernel_shape"));
  Pool pool{plane, general, attributes, {}, counts_padding, node.integer("ceil_mode", 0) != 0};
  if (node.has_output(1)) pool.indices = {{"with_indices", true}, {"storage_order", order}};
  translator.set_all(node, pooled(translator, node, x, window_of(node, x.dims(), *kernel), pool));
}

void translate_convolution(Translator& translator, const Node& node, size_t weights) {
  kernel_of(node, translator.in(node, weights));
  translator.set_all(node, translator.by_record(node.without("kernel_shape"), translator.inputs(node)));
}

void translate_recurrent(Translator& translator, const Node& node) {
  constexpr size_t kRecurrentWeights = 2;
  const Operand r = translator.in(node, kRecurrentWeights);
  if (!r.there() || r.dims().size() != 3)
    fail(errors::wrong_extents(node.where(), "", "recurrent weights of 3 extents"));
  const int64_t hidden = r.dims()[2];
  if (node.integer("hidden_size", hidden) != hidden)
    fail(errors::attribute_not_that_of_weights(node.where(), "hidden_size", node.integer("hidden_size", hidden),
                                               hidden));
  translator.set_all(node, translator.by_record(node.without("hidden_size"), translator.inputs(node)));
}

void translate_affine(Translator& translator, const Node& node) {
  std::vector<Operand> inputs = translator.inputs(node);
  if (inputs.size() < 2 || !inputs[1].there()) fail(errors::part_missing(node.where(), "the scale"));
  const Dims scale = inputs[1].dims();
  const auto is_one = [](const Dims& dims) { return dims.empty() || dims == Dims{1}; };
  if (inputs.size() > 2 && inputs[2].there() && is_one(scale) && is_one(inputs[2].dims()) && inputs[2].dims() != scale)
    inputs[2] = translator.reshaped(node, inputs[2], scale);
  translator.set_all(node, translator.by_record(node, inputs));
}

void translate_reduction(Translator& translator, const Node& node) {
  const Operand axes = translator.in(node, 1);
  const bool is_empty = !node.integers("axes") && (!axes.there() || axes.type().dims == Dims{0});
  if (node.integer("noop_with_empty_axes", 0) != 0 && is_empty) {
    node.attribute("keepdims");  // no axes, so no effect
    return translator.set(node, 0, translator.in(node, 0));
  }
  translator.set_all(node, translator.by_record(node.without("noop_with_empty_axes"), translator.inputs(node)));
}

}  // namespace halfstep::formats::onnx
