// Parts along one axis, each a slice: of given extents, or equal ones.
#include <algorithm>
#include <numeric>

#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_split(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const auto rank = static_cast<int64_t>(x.dims().size());
  std::vector<int64_t> parts = translator.integers(node, "sections", 1);
  const auto given = static_cast<int64_t>(translator.number(node, "axis", 2, 0));
  const int64_t axis = given + (given < 0 ? rank : 0), count = node.integer("num", 0);
  if (axis < 0 || axis >= rank) fail("{}: found axis {} of {}", node.where(), given, to_string(x.dims()));
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  if (extent == kUnknown) throw NeedsExtents(node.where() + ": the parts of an open extent");
  if (parts.empty() && count > 0 && extent % count == 0) parts.assign(static_cast<size_t>(count), extent / count);
  const int64_t sum = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  if (const auto open = std::find(parts.begin(), parts.end(), -1); open != parts.end()) *open = extent - sum - 1;
  if (std::accumulate(parts.begin(), parts.end(), int64_t{0}) != extent ||
      *std::min_element(parts.begin(), parts.end()) < 0)
    fail("{}: found the parts {} of extent {}", node.where(), to_string(parts), extent);
  std::vector<Operand> results;
  int64_t at = 0;
  for (const int64_t part : parts) {
    const Attributes attributes = {{"starts", std::vector<int64_t>{at}},
                                   {"ends", std::vector<int64_t>{at + part}},
                                   {"axes", std::vector<int64_t>{axis}}};
    results.push_back(translator.make_one(node, "slice", {x}, attributes));
    at += part;
  }
  translator.set_list(node, {"Out", 0}, results);
}

}  // namespace halfstep::formats::paddle
