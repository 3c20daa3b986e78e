// Losses of boxes by the intersection over the union (Rezatofighi et al., 2019; Zheng et al., 2020).
#include <numbers>

#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

/// Keeps quotients of empty boxes finite.
constexpr double kEpsilon = 1e-7;

struct Box {
  Array x1, y1, x2, y2;
  Array width() const { return x2 - x1; }
  Array height() const { return y2 - y1; }
  Array area() const { return width() * height(); }
};

Array coordinate(const Array& boxes, int64_t index) {
  const auto axis = static_cast<int64_t>(boxes.dims().size()) - 1;
  const Array column = capture::apply("slice", {boxes},
                                      {{"starts", std::vector<int64_t>{index}},
                                       {"ends", std::vector<int64_t>{index + 1}},
                                       {"axes", std::vector<int64_t>{axis}}});
  return capture::apply("squeeze", {column}, {{"axes", std::vector<int64_t>{axis}}});
}

Box box_of(const Array& boxes) {
  return {coordinate(boxes, 0), coordinate(boxes, 1), coordinate(boxes, 2), coordinate(boxes, 3)};
}

struct Pair {
  explicit Pair(const Call& call) : output(box_of(call.operands[0])), target(box_of(call.operands[1])) {
    const Array width = smaller(output.x2, target.x2) - larger(output.x1, target.x1);
    const Array height = smaller(output.y2, target.y2) - larger(output.y1, target.y1);
    const Array both = positive_part(width) * positive_part(height);
    united = output.area() + target.area() - both;
    overlap = both / (united + kEpsilon);
    enclosing = {smaller(output.x1, target.x1), smaller(output.y1, target.y1), larger(output.x2, target.x2),
                 larger(output.y2, target.y2)};
  }

  /// 1 - overlap + the squared distance of the centres, relative to the diagonal of the enclosing box.
  Array distant() const {
    const Array diagonal = square(enclosing.width()) + square(enclosing.height()) + kEpsilon;
    const Array x = output.x1 + output.x2 - target.x1 - target.x2, y = output.y1 + output.y2 - target.y1 - target.y2;
    return 1 - overlap + (square(x) + square(y)) * 0.25 / diagonal;
  }

  Box output, target, enclosing;
  Array united, overlap;
};

Array angle(const Box& box) { return unary("atan", box.width() / box.height()); }

}  // namespace

Array iou(const Call& call) { return 1 - Pair(call).overlap; }

Array giou(const Call& call) {
  const Pair pair(call);
  const Array area = pair.enclosing.area();
  return 1 - pair.overlap + (area - pair.united) / (area + kEpsilon);
}

Array diou(const Call& call) { return Pair(call).distant(); }

Array ciou(const Call& call) {
  const Pair pair(call);
  const Array shape = square(angle(pair.target) - angle(pair.output)) * (4 / (std::numbers::pi * std::numbers::pi));
  const Array share = unary("stop_gradient", shape / (1 - pair.overlap + shape + kEpsilon));
  return pair.distant() + share * shape;
}

}  // namespace halfstep::losses
