// Slices from starts to ends in steps along axes. Starts and ends may depend on dynamic extents if steps are positive.
#include <fmt/format.h>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Slice(Translator& translator, const Node& node) {
  const Operand starts = translator.in(node, 1), ends = translator.in(node, 2);
  if ((!starts.there() || starts.known()) && (!ends.there() || ends.known())) return translator.by_record(node);
  const auto first = translator.elements(starts), last = translator.elements(ends);
  if (!first && !last) return translator.by_record(node);
  const Operand axes = translator.in(node, 3), steps = translator.in(node, 4);
  std::vector<int64_t> each;
  if (steps.there()) each = translator.integers(node, steps);
  Operand x = translator.in(node, 0);
  const auto rank = static_cast<int64_t>(x.dims().size());
  std::vector<int64_t> along;
  if (axes.there()) along = translator.integers(node, axes);
  for (size_t i = 0; !axes.there() && first && i < first->values.size(); ++i) along.push_back(static_cast<int64_t>(i));
  each.resize(steps.there() ? each.size() : along.size(), 1);
  const auto fits = [&](const std::optional<Elements>& list) { return list && list->values.size() == along.size(); };
  if (!fits(first) || !fits(last) || each.size() != along.size())
    fail(errors::wrong_extents(node.where(), "starts and ends of other lengths",
                               fmt::format("{} numbers", along.size())));
  for (size_t i = 0; i < along.size(); ++i) {
    const int64_t axis = along[i] < 0 ? along[i] + rank : along[i];
    if (axis < 0 || axis >= rank)
      fail(errors::axis_out_of_range(node.where(), along[i], fmt::format("{} extents", rank)));
    x = part_of(translator, node, x, static_cast<size_t>(axis), first->values[i], last->values[i], each[i]);
  }
  translator.set(node, 0, x);
}

}  // namespace halfstep::formats::onnx
