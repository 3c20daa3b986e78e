// Selected boxes of known boxes and scores: [count, 3] of batch, class and box.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

struct Box {
  float low_y, low_x, high_y, high_x;
  float area() const { return (high_y - low_y) * (high_x - low_x); }
};

/// Reads a box from corners in any order, or with `center` from the middle (x, y) and extents.
Box box_at(std::span<const float> boxes, size_t i, bool center) {
  const float a = boxes[4 * i], b = boxes[4 * i + 1], c = boxes[4 * i + 2], d = boxes[4 * i + 3];
  if (center) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

/// Whether intersection over union is above the threshold.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const float width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float both = height * width;
  return both / (a.area() + b.area() - both) > threshold;
}

struct Rule {
  int64_t most;
  float overlap;
  std::optional<float> score;
  bool center;
};

/// Returns boxes of one class by falling score, without boxes that overlap an earlier one. Ties keep their order.
std::vector<int64_t> non_max_suppression(std::span<const float> boxes, std::span<const float> scores,
                                         const Rule& rule) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!rule.score || scores[i] > *rule.score) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  std::vector<int64_t> chosen;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(chosen.size()) >= rule.most) break;
    const Box box = box_at(boxes, static_cast<size_t>(i), rule.center);
    const auto hides = [&](int64_t k) {
      return overlap(box, box_at(boxes, static_cast<size_t>(k), rule.center), rule.overlap);
    };
    if (std::none_of(chosen.begin(), chosen.end(), hides)) chosen.push_back(i);
  }
  return chosen;
}

/// Returns an input of one element, or undefined if it is absent.
Tensor number_in(Translator& translator, const Node& node, size_t input) {
  if (!node.has_input(input)) return {};
  Tensor tensor = translator.contents(translator.in(node, input));
  if (tensor.size() != 1)
    fail(errors::input_not_one_element(node.where(), fmt::format("{} elements in input {}", tensor.size(), input)));
  return tensor;
}

}  // namespace

void translate_NonMaxSuppression(Translator& translator, const Node& node) {
  const Tensor boxes = translator.contents(translator.in(node, 0)),
               scores = translator.contents(translator.in(node, 1));
  const Dims &b = boxes.dims(), &s = scores.dims();
  if (boxes.dtype() != DType::f32 || scores.dtype() != DType::f32 || b.size() != 3 || s.size() != 3 || b[2] != 4 ||
      b[0] != s[0] || b[1] != s[2])
    fail(errors::wrong_extents(node.where(),
                               fmt::format("boxes {} and scores {}", to_string(boxes.type()), to_string(scores.type())),
                               "f32 values of [batch, boxes, 4] and [batch, classes, boxes]"));
  const Tensor most = number_in(translator, node, 2), overlap = number_in(translator, node, 3),
               score = number_in(translator, node, 4);
  Rule rule{most.defined() ? integers_of(most, node.where()).front() : 0,
            overlap.defined() ? static_cast<float>(element(overlap, 0)) : 0, std::nullopt,
            node.integer("center_point_box", 0) != 0};
  if (score.defined()) rule.score = static_cast<float>(element(score, 0));
  std::vector<int64_t> found;
  const auto count = static_cast<size_t>(b[1]);
  for (int64_t batch = 0; batch < s[0]; ++batch) {
    for (int64_t label = 0; label < s[1]; ++label) {
      const auto own = boxes.data<float>().subspan(static_cast<size_t>(batch) * count * 4, count * 4);
      const auto row = scores.data<float>().subspan(static_cast<size_t>(batch * s[1] + label) * count, count);
      for (const int64_t box : non_max_suppression(own, row, rule)) found.insert(found.end(), {batch, label, box});
    }
  }
  translator.set(
      node, 0, Translator::known(Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(found.size() / 3), 3}, found)));
}

}  // namespace halfstep::formats::onnx
