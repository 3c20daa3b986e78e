// Merges the axes start_axis to stop_axis.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_flatten(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const Dims from = x.dims();
  const auto rank = static_cast<int64_t>(from.size());
  const auto axis = [&](const char* name, int64_t otherwise) {
    const int64_t given = node.integer(name, otherwise);
    return given < 0 ? given + rank : given;
  };
  const int64_t start = axis("start_axis", 1), stop = axis("stop_axis", 1);
  if (start < 0 || stop < start || stop >= std::max<int64_t>(rank, 1))
    fail(errors::axis_out_of_range(node.where(), fmt::format("{} to {}", start, stop), to_string(from)));
  Dims dims;
  int64_t joined = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t extent = from[static_cast<size_t>(i)];
    if (i < start || i > stop)
      dims.push_back(extent == kUnknown ? 0 : extent);  // 0 keeps an extent at the same position
    else
      joined = extent == kUnknown || joined == kUnknown ? kUnknown : joined * extent;
    if (i == stop) dims.push_back(joined == kUnknown ? -1 : joined);
  }
  if (std::count(from.begin() + std::min(stop + 1, rank), from.end(), kUnknown) > 0)
    fail(errors::depends_on_extents("a flatten with a dynamic dimension after the dimensions that it joins"));
  translator.set(node, {"Out", 0}, rank == 0 ? translator.reshaped(node, x, {1}) : translator.reshaped(node, x, dims));
}

}  // namespace halfstep::formats::paddle
