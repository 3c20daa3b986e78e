// Translates by the record. The value is an attribute before opset 11. The numbers may depend on dynamic extents.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/open_pad.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

namespace {

/// Returns the axes that a pad of unknown numbers changes.
std::vector<PaddedAxis> axes_of(Translator& translator, const Node& node, const Elements& pads, size_t rank) {
  const Operand named = translator.in(node, 3);
  std::vector<int64_t> axes;
  if (named.there()) axes = translator.integers(node, named);
  for (size_t axis = 0; !named.there() && axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  if (pads.values.size() != 2 * axes.size())
    fail(errors::wrong_count(node.where(), "pads", pads.values.size(), 2 * axes.size()));
  std::vector<PaddedAxis> padded;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<int64_t>(rank))
      fail(errors::axis_out_of_range(node.where(), axes[i], fmt::format("{} extents", rank)));
    padded.push_back({static_cast<size_t>(axis), pads.values[i], pads.values[i + axes.size()]});
  }
  return padded;
}

}  // namespace

void translate_Pad(Translator& translator, const Node& node) {
  constexpr int64_t kValueIsInput = 11;
  const Operand numbers = translator.in(node, 1);
  const auto pads = node.version() >= kValueIsInput && numbers.there() && !numbers.known()
                        ? translator.elements(numbers)
                        : std::nullopt;
  if (pads) {
    const Operand open = translator.in(node, 0);
    const auto axes = axes_of(translator, node, *pads, open.dims().size());
    return translator.set(
        node, 0, padded_by(translator, node, open, axes, node.text("mode", "constant"), translator.in(node, 2)));
  }
  if (node.version() >= kValueIsInput || node.attribute("value") == nullptr) return translator.by_record(node);
  const Operand x = translator.in(node, 0);
  if (!x.there()) fail(errors::part_missing(node.where(), "an input"));
  const Operand value = Translator::known(filled(x.type().dtype, {}, node.real("value", 0)));
  translator.set_all(node, translator.by_record(node.without("value"), {x, value}));
}

}  // namespace halfstep::formats::onnx
