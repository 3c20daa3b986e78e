// Reshapes to known extents. 0 keeps an extent, or means 0 with allowzero.
#include <algorithm>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

std::vector<Element> wanted_extents(Translator& translator, const Node& node) {
  const Operand shape = translator.in(node, 1);
  if (const auto extents = translator.open_elements(shape)) return extents->values;
  const auto attribute = node.integers("shape");
  if (!shape.there() && !attribute) fail(errors::part_missing(node.where(), "the list of extents"));
  const std::vector<int64_t> dims = shape.there() ? translator.integers(node, shape) : *attribute;
  return {dims.begin(), dims.end()};
}

}  // namespace

void translate_Reshape(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  std::vector<Element> extents = wanted_extents(translator, node);
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  const auto is_zero = [](const Element& extent) { return extent && *extent == 0; };
  const Dims from = x.dims();
  if (zero_is_zero && std::ranges::any_of(extents, is_zero)) {
    // Halfstep's 0 keeps an extent. An empty result means that x is empty too, so an empty tensor of these extents
    // replaces it.
    Dims dims;
    for (const Element& extent : extents) dims.push_back(extent ? *extent : -1);
    if (std::ranges::count(dims, -1) > 0)
      fail(errors::reshape_to_nothing(node.where(), "both -1 and 0 with allowzero", "0 without -1"));
    if (!x.type().is_static() || count_elements(from) != 0)
      fail(errors::reshape_to_nothing(node.where(), to_string(x.type()), "no elements"));
    return translator.set(node, 0, Translator::known(Tensor(x.type().dtype, dims)));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!is_zero(extents[i])) continue;
    if (i >= from.size()) fail(errors::reshape_keeps_missing_axis(node.where(), i, to_string(from)));
    extents[i] = extent_of(translator, x, i);
  }
  translator.set(node, 0, reshaped_to(translator, node, x, extents));
}

}  // namespace halfstep::formats::onnx
