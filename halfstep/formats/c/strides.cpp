#include "halfstep/formats/c/strides.h"

#include <numeric>

#include "halfstep/formats/c/errors.h"

namespace halfstep::formats::c {

std::vector<size_t> memory_axes(const Body& body, Value value) {
  if (body.is_image(value)) return {0, 2, 3, 1};
  std::vector<size_t> axes(value.dims().size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  return axes;
}

std::vector<int64_t> strides(const Body& body, Value value) {
  const Dims& dims = value.dims();
  const std::vector<size_t> axes = memory_axes(body, value);
  std::vector<int64_t> steps(dims.size(), 0);
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (dims[*axis] != 1) steps[*axis] = step;
    step *= dims[*axis];
  }
  return steps;
}

void Loops::add(int64_t extent, const std::vector<int64_t>& each) {
  if (extent == 1) return;
  steps.resize(each.size());
  bool goes_on = !count.empty();
  for (size_t i = 0; i < each.size() && goes_on; ++i) goes_on = steps[i].back() == each[i] * extent;
  if (goes_on) {
    count.back() *= extent;
    for (size_t i = 0; i < each.size(); ++i) steps[i].back() = each[i];
    return;
  }
  count.push_back(extent);
  for (size_t i = 0; i < each.size(); ++i) steps[i].push_back(each[i]);
}

std::string four(const Dims& values, int64_t missing) {
  HS_CHECK(values.size() <= 4);
  std::vector<int64_t> text(4 - values.size(), missing);
  text.insert(text.end(), values.begin(), values.end());
  return "{" + c_numbers(std::span<const int64_t>(text)) + "}";
}

void require_four(Op op, const Loops& loops, const std::string& what) {
  if (loops.count.size() > 4) fail(errors::c_too_many_axes(op.where(), what, loops.count.size(), 4));
}

}  // namespace halfstep::formats::c
