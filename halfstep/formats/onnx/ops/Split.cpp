// Splits along one axis into slices of the given extents, or of equal extents, with a possibly smaller last one.
#include <fmt/format.h>

#include "halfstep/core/base/divide.h"
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

int64_t count_of(const Node& node) {
  const int64_t count = node.integer("num_outputs", static_cast<int64_t>(node.outputs()));
  if (count < 1 || count != static_cast<int64_t>(node.outputs()))
    fail(errors::wrong_count(node.where(), "parts", count, fmt::format("one for each of {} outputs", node.outputs())));
  return count;
}

std::vector<int64_t> parts_of(Translator& translator, const Node& node, int64_t extent) {
  if (node.has_input(1)) return translator.integers(node, translator.in(node, 1));
  if (const auto split = node.integers("split")) return *split;
  const int64_t count = count_of(node), part = ceil_div(extent, count);
  std::vector<int64_t> parts(static_cast<size_t>(count), part);
  parts.back() = extent - part * (count - 1);
  return parts;
}

/// Whether no part is negative and their sum is the extent, as far as it is known.
bool divide(const std::vector<int64_t>& parts, int64_t extent) {
  int64_t rest = extent == kUnknown ? kMaxElements : extent;
  for (const int64_t part : parts) {
    if (part < 0 || part > rest) return false;
    rest -= part;
  }
  return extent == kUnknown || rest == 0;
}

/// Splits into parts that may depend on dynamic extents, with or without a list of them.
void split_open(Translator& translator, const Node& node, const Operand& x, size_t axis,
                const std::optional<Elements>& parts) {
  const Element extent = extent_of(translator, x, axis);
  Element at = 0;
  for (size_t i = 0; i < node.outputs(); ++i) {
    const bool is_last = i + 1 == node.outputs();
    const Element end = parts ? sum(at, parts->values.at(i)) : equal_parts(extent, count_of(node), i + 1);
    if (node.has_output(i)) translator.set(node, i, part_of(translator, node, x, axis, at, is_last ? extent : end));
    at = end;
  }
}

}  // namespace

void translate_Split(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  const auto rank = static_cast<int64_t>(x.dims().size());
  const int64_t axis = node.integer("axis", 0) + (node.integer("axis", 0) < 0 ? rank : 0);
  if (axis < 0 || axis >= rank) fail(errors::axis_out_of_range(node.where(), axis, to_string(x.dims())));
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  const auto open = translator.open_elements(translator.in(node, 1));
  const bool has_list = node.has_input(1) || node.attribute("split") != nullptr;
  if (open || (extent == kUnknown && !has_list))
    return split_open(translator, node, x, static_cast<size_t>(axis), open);
  const std::vector<int64_t> parts = parts_of(translator, node, extent);
  if (parts.size() != node.outputs() || !divide(parts, extent))
    fail(errors::parts_do_not_fit(node.where(), to_string(parts), extent, node.outputs()));
  int64_t at = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Attributes attributes = {{"starts", std::vector<int64_t>{at}},
                                   {"ends", std::vector<int64_t>{at + parts[i]}},
                                   {"axes", std::vector<int64_t>{axis}}};
    at += parts[i];
    if (node.has_output(i)) translator.set(node, i, translator.make_one(node, "slice", {x}, attributes));
  }
}

}  // namespace halfstep::formats::onnx
