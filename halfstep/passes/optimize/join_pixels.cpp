#include "halfstep/passes/optimize/join_pixels.h"

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"

namespace halfstep::passes {
namespace {

const std::vector<int64_t> kChannelsFirst = {0, 3, 1, 2}, kToRows = {0, 2, 1};

/// Whether `reshape` merges the last two axes of [n, channels, height, width].
bool joins_last_axes(const ops::Reshape& reshape) {
  const Dims &image = reshape.x().dims(), &pixels = reshape.out().dims();
  return image.size() == 4 && image[1] > 0 && image[2] > 0 && image[3] > 0 && pixels[1] == image[1] &&
         pixels[2] == image[2] * image[3];
}

}  // namespace

void join_pixels(Graph& graph) {
  for (const ops::Transpose rows : graph.all<ops::Transpose>()) {
    const auto reshape = rows.perm() == kToRows ? rows.x().producer<ops::Reshape>() : std::nullopt;
    const auto image = reshape && joins_last_axes(*reshape) ? reshape->x().producer<ops::Transpose>() : std::nullopt;
    if (!image || image->perm() != kChannelsFirst) continue;
    const std::vector<int64_t> dims = {-1, rows.out().dims()[1], rows.out().dims()[2]};
    replace(graph, rows, insert_before(graph, rows, ops::Reshape::record(), {image->x()}, {{"dims", dims}}));
  }
}

}  // namespace halfstep::passes
