// Resampling of codes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"
#include "halfstep/formats/c/strides.h"
#include "halfstep/passes/graph/resampling.h"

namespace halfstep::formats::c {
namespace {

constexpr size_t kMostAxes = 4;

/// Sources and weights along one axis of the result, in memory order.
struct Taps {
  int64_t count = 1, width = 1;
  std::vector<int64_t> places = {0}, weights = {1};
};

/// Taps of the axes with more than one element, from the outermost in memory to the innermost.
std::vector<Taps> taps_of(const Body& body, Op op) {
  const std::vector<int64_t> steps = strides(body, op.in(0));
  const Dims& dims = op.out(0).dims();
  const auto resampled = arith::resampled_axes(passes::resampling_of(op), op.in(0).dims(), dims);
  std::vector<Taps> all;
  for (const size_t axis : memory_axes(body, op.out(0))) {
    const auto found = std::ranges::find(resampled, axis, &arith::ResampledAxis::axis);
    Taps taps{dims[axis], 1, {}, {}};
    if (found != resampled.end()) {
      const auto weights = arith::integer_weights(*found, arith::weight_bits(resampled.size()));
      taps = {dims[axis], found->width, found->places, {weights.begin(), weights.end()}};
    } else {
      for (int64_t i = 0; i < dims[axis]; ++i) taps.places.push_back(i);
      taps.weights.assign(taps.places.size(), 1);
    }
    for (int64_t& place : taps.places) place *= steps[axis];
    if (taps.count > 1 || taps.width > 1) all.push_back(std::move(taps));
  }
  if (all.size() > kMostAxes) fail(errors::c_too_many_axes(op.where(), "values", all.size(), kMostAxes));
  all.insert(all.begin(), kMostAxes - all.size(), Taps());
  return all;
}

std::string taps_object(Body& body, Op op, const std::vector<Taps>& all) {
  std::string text;
  for (const Taps& taps : all) {
    const std::string places = body.numbers(name_of(op.name(), "places"), "int32_t", taps.places, 4);
    const std::string weights = body.numbers(name_of(op.name(), "weights"), "int32_t", taps.weights, 4);
    text += fmt::format("{}{{.count = {}, .width = {}, .place = {}, .weight = {}}}", text.empty() ? "" : ",\n    ",
                        taps.count, taps.width, places, weights);
  }
  return body.object(name_of(op.name(), "taps"), "taps", text, all.size() * 24, fmt::format("[{}]", all.size()));
}

/// Largest sum of magnitudes of the weights of an element.
int64_t most_weight(const std::vector<Taps>& all) {
  int64_t most = 1;
  for (const Taps& taps : all) {
    int64_t largest = 0;
    for (size_t first = 0; first < taps.weights.size(); first += static_cast<size_t>(taps.width)) {
      int64_t sum = 0;
      for (size_t k = first; k < first + static_cast<size_t>(taps.width); ++k) sum += std::abs(taps.weights[k]);
      largest = std::max(largest, sum);
    }
    most *= largest;
  }
  return most;
}

}  // namespace

void add_resize(Body& body, Op op) {
  const ops::IntegerResize resize(op.node());
  const std::vector<Taps> taps = taps_of(body, op);
  const int64_t most = most_weight(taps) * largest_magnitude(resize.x(), resize.x_zero_point());
  const Scale scale =
      plain_scale(body, op, {{resize.multiplier()}, {resize.shift()}, {}, false}, most > INT32_MAX, most);
  Words words = scale.words();
  words["x"] = c_type(resize.x().dtype());
  words["y"] = c_type(resize.out().dtype());
  words["resize"] =
      fmt::format("resize_{}_{}_{}", tag(resize.x().dtype()), tag(resize.out().dtype()), scale.code.substr(5));
  body.kernels.use("taps");
  body.kernels.use("resize", words);
  const std::string object = taps_object(body, op, taps);
  const std::string x = body.read(resize.x()), y = body.write(resize.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {});", words["resize"], x, y, object, resize.x_zero_point(), scale.object));
}

}  // namespace halfstep::formats::c
