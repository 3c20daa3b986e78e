// The same elements under extents that are known; 0 keeps one unless allowzero says that it is 0.
#include <algorithm>

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

namespace {

/// The extent that -1 stands for among `elements`, where it is one number whatever the open ones are.
std::optional<int64_t> worked_out(const std::optional<Tried>& total, const std::vector<Element>& elements) {
  std::optional<int64_t> found;
  for (size_t i = 0; total && i < total->size(); ++i) {
    int64_t others = 1;
    for (const Element& element : elements) {
      if (element && *element == -1) continue;
      const auto tried = element.tried();
      if (!tried || __builtin_mul_overflow(others, (*tried)[i], &others)) return std::nullopt;
    }
    if (others <= 0 || (*total)[i] % others != 0) return std::nullopt;
    const int64_t extent = (*total)[i] / others;
    if (found && *found != extent) return std::nullopt;
    found = extent;
  }
  return found;
}

/// The extents of a list of which some are open: one may be, and is -1.
Dims extents_of(Translator& translator, const Node& node, const Operand& x, const std::vector<Element>& elements) {
  const auto is_left = [](const Element& element) { return element && *element == -1; };
  Dims dims;
  for (const Element& element : elements) dims.push_back(element ? *element : -1);
  const auto left = std::ranges::find_if(elements, is_left);
  const bool has_zero = std::ranges::count(dims, 0) > 0;
  if (std::ranges::count(dims, -1) > 1 && left != elements.end() && x.value && !has_zero) {
    const auto extent = worked_out(translator.trials().elements(x.value), elements);
    if (extent) dims[static_cast<size_t>(left - elements.begin())] = *extent;
  }
  if (std::ranges::count(dims, -1) > 1)
    throw NeedsExtents(node.where() + ": more than one extent of the result depends on open extents");
  return dims;
}

}  // namespace

void translate_Reshape(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), shape = translator.in(node, 1);
  const auto attribute = node.integers("shape");
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  if (!shape.there() && !attribute) fail("{}: found no extents", node.where());
  Dims dims;
  if (shape.elements && !shape.elements->known()) {
    dims = extents_of(translator, node, x, shape.elements->values);
  } else {
    dims = shape.there() ? translator.integers(node, shape) : *attribute;
  }
  const Dims from = x.dims();
  const bool has_zero = std::count(dims.begin(), dims.end(), 0) > 0;
  if (has_zero && zero_is_zero) {
    // The result is empty, so x is; our 0 keeps an extent. An empty tensor of these extents is known.
    if (std::count(dims.begin(), dims.end(), -1) > 0) fail("{}: found 0 and -1 with allowzero", node.where());
    if (!x.type().is_static() || count_elements(from) != 0)
      fail("{}: found {}, expected no elements", node.where(), to_string(x.type()));
    return translator.set(node, 0, Translator::known(Tensor(x.type().dtype, dims)));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 0) continue;
    if (i >= from.size())
      fail("{}: extent {} is 0, but the input has the extents {}", node.where(), i, to_string(from));
    if (from[i] != kUnknown && from[i] != 0) dims[i] = from[i];
  }
  translator.set(node, 0, translator.reshaped(node, x, dims));
}

}  // namespace halfstep::formats::onnx
