// Operators of object detectors, in double.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

Box box_of(const double* numbers, bool center) {
  if (center) {
    const double x = numbers[0], y = numbers[1], width = numbers[2] / 2, height = numbers[3] / 2;
    return {y - height, x - width, y + height, x + width};
  }
  const auto [y1, y2] = std::minmax(numbers[0], numbers[2]);
  const auto [x1, x2] = std::minmax(numbers[1], numbers[3]);
  return {y1, x1, y2, x2};
}

/// Whether the intersection over union is above the threshold.
bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const double common = height * width, all = a.area() + b.area() - common;
  return all > 0 && common / all > threshold;
}

struct SelectState {
  int64_t images, classes, boxes;
  NonMaximumSuppression attributes;
};

Plan prepare_select(const Problem& problem) {
  const Dims& scores = problem.in[NonMaximumSuppression::in::scores]->dims;
  auto state =
      std::make_shared<SelectState>(scores[0], scores[1], scores[2], NonMaximumSuppression(problem.attributes));
  const auto scratch = static_cast<size_t>(scores[2]) * (sizeof(Box) + sizeof(double) + 2 * sizeof(int64_t));
  return {.state = std::move(state), .scratch = scratch};
}

/// Selects boxes of one class of one image by falling score. A selected box overlaps none of those selected before.
/// Returns their number.
int64_t choose(const SelectState& s, const Box* boxes, const double* scores, int64_t* order, int64_t* chosen) {
  const NonMaximumSuppression& a = s.attributes;
  int64_t candidates = 0, count = 0;
  for (int64_t i = 0; i < s.boxes; ++i) {
    const bool every = std::isinf(a.score_threshold) && a.score_threshold < 0;
    if (every || scores[i] > a.score_threshold) order[candidates++] = i;
  }
  std::stable_sort(order, order + candidates,
                   [&](int64_t left, int64_t right) { return scores[left] > scores[right]; });
  for (int64_t i = 0; i < candidates && count < a.max_output_boxes_per_class; ++i) {
    const Box& box = boxes[order[i]];
    const bool free = std::none_of(chosen, chosen + count,
                                   [&](int64_t other) { return overlaps(box, boxes[other], a.iou_threshold); });
    if (free) chosen[count++] = order[i];
  }
  return count;
}

Status run_select(const Call& call, int, int64_t) {
  using In = NonMaximumSuppression::in;
  using Out = NonMaximumSuppression::out;
  const auto& s = state_of<SelectState>(call);
  auto* boxes = reinterpret_cast<Box*>(call.scratch);
  auto* scores = reinterpret_cast<double*>(boxes + s.boxes);
  auto* order = reinterpret_cast<int64_t*>(scores + s.boxes);
  int64_t* chosen = order + s.boxes;
  auto* rows = call.out[Out::selected].as<int64_t>();
  int64_t found = 0;
  with_any_float(call.in[In::boxes].dtype, [&]<class T>() {
    for (int64_t line = 0; line < s.images * s.classes; ++line) {
      const int64_t image = line / s.classes;
      for (int64_t i = 0; i < s.boxes; ++i) {
        const T* numbers = call.in[In::boxes].as<const T>() + (image * s.boxes + i) * 4;
        const double wide[4] = {to_double(numbers[0]), to_double(numbers[1]), to_double(numbers[2]),
                                to_double(numbers[3])};
        boxes[i] = box_of(wide, s.attributes.center_point_box);
        scores[i] = to_double(call.in[In::scores].as<const T>()[line * s.boxes + i]);
      }
      const int64_t count = choose(s, boxes, scores, order, chosen);
      for (int64_t i = 0; i < count; ++i, ++found) {
        rows[found * 3] = image;
        rows[found * 3 + 1] = line % s.classes;
        rows[found * 3 + 2] = chosen[i];
      }
    }
  });
  std::fill(rows + found * 3, rows + call.out[Out::selected].size(), -1);
  call.out[Out::count].as<int64_t>()[0] = found;
  return {};
}

// roi_align

struct AlignState {
  int64_t images, channels, height, width;
  RoiAlign attributes;
};

Plan prepare_align(const Problem& problem) {
  const Dims& x = problem.in[RoiAlign::in::x]->dims;
  return {.state = std::make_shared<AlignState>(x[0], x[1], x[2], x[3], RoiAlign(problem.attributes)),
          .phases = {problem.in[RoiAlign::in::rois]->dims[0]}};
}

/// Four neighbours of a position in a plane and their weights. All weights are 0 outside.
struct Sample {
  std::array<int64_t, 4> at = {};
  std::array<double, 4> weight = {};

  Sample(const AlignState& s, double y, double x) {
    if (y < -1 || y > static_cast<double>(s.height) || x < -1 || x > static_cast<double>(s.width)) return;
    const auto [top, bottom, below] = neighbours(y, s.height);
    const auto [left, right, beside] = neighbours(x, s.width);
    at = {top * s.width + left, top * s.width + right, bottom * s.width + left, bottom * s.width + right};
    weight = {(1 - below) * (1 - beside), (1 - below) * beside, below * (1 - beside), below * beside};
  }

 private:
  struct Neighbours {
    int64_t low, high;
    double rest;
  };
  static Neighbours neighbours(double place, int64_t extent) {
    place = std::max(place, 0.0);
    const auto low = static_cast<int64_t>(place);
    if (low >= extent - 1) return {extent - 1, extent - 1, 0};
    return {low, low + 1, place - static_cast<double>(low)};
  }
};

/// Largest extent of a region in pixels. A larger region is an error.
constexpr int64_t kMostPixels = 1 << 20;

/// Samples [first, last).
struct Span {
  int64_t first, last;
  int64_t size() const { return last - first; }
};

/// One axis of a region, cut into bins with `count` samples each.
struct Bins {
  double begin, size;  ///< begin and size of the first bin
  int64_t count;

  Bins(double first, double length, int64_t bins, int64_t sampling_ratio)
      : begin(first),
        size(length / static_cast<double>(bins)),
        count(sampling_ratio > 0 ? sampling_ratio : std::max(int64_t{0}, static_cast<int64_t>(std::ceil(size)))) {}

  double place(int64_t bin, int64_t i) const {
    return begin + static_cast<double>(bin) * size + (static_cast<double>(i) + 0.5) * size / static_cast<double>(count);
  }
  /// The samples [first, last) of a bin that are inside a plane of this extent. All others are 0. They are not visited,
  /// because a region may be far larger than the plane.
  Span inside(int64_t bin, int64_t extent) const {
    Span span{0, count};
    if (size <= 0) return span;
    const double from = begin + static_cast<double>(bin) * size, step = size / static_cast<double>(count);
    const auto clamped = [&](double i) { return static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(count))); };
    span.first = clamped(std::floor((-1 - from) / step) - 2);
    span.last = std::max(span.first, clamped(std::ceil((static_cast<double>(extent) - from) / step) + 2));
    while (span.first < span.last && place(bin, span.first) < -1) ++span.first;
    while (span.first < span.last && place(bin, span.last - 1) > static_cast<double>(extent)) --span.last;
    return span;
  }
};

/// A region in pixels.
struct Region {
  double y, x, height, width;

  Region(const RoiAlign& a, const double* corners) {
    const bool half_pixel = a.coordinates == "half_pixel";
    const double offset = half_pixel ? 0.5 : 0;
    x = corners[0] * a.spatial_scale - offset;
    y = corners[1] * a.spatial_scale - offset;
    width = corners[2] * a.spatial_scale - offset - x;
    height = corners[3] * a.spatial_scale - offset - y;
    if (half_pixel) return;
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  /// False also if a corner is NaN.
  bool is_bounded() const {
    return std::fabs(height) <= double{kMostPixels} && std::fabs(width) <= double{kMostPixels};
  }
};

/// Calls visit(position in the plane, weight) for the neighbours of the samples of a bin that are inside.
template <class Visit>
void for_each_part(const AlignState& s, const Bins& across, const Bins& along, int64_t bin_row, int64_t bin_column,
                   const Visit& visit) {
  const Span rows = across.inside(bin_row, s.height), columns = along.inside(bin_column, s.width);
  for (int64_t row = rows.first; row < rows.last; ++row) {
    for (int64_t column = columns.first; column < columns.last; ++column) {
      const Sample sample(s, across.place(bin_row, row), along.place(bin_column, column));
      for (size_t k = 0; k < 4; ++k) visit(sample.at[k], sample.weight[k]);
    }
  }
}

/// A weighted neighbour of a sample. Samples outside are 0, without a position.
struct Part {
  double value = 0;
  int64_t at = -1;
  double weight = 0;
};

/// The first largest part of a bin.
template <class T>
Part largest_part(const AlignState& s, const Bins& across, const Bins& along, const T* plane, int64_t bin_row,
                  int64_t bin_column) {
  const Span rows = across.inside(bin_row, s.height), columns = along.inside(bin_column, s.width);
  bool first = rows.first == 0 && columns.first == 0;
  Part best;
  for_each_part(s, across, along, bin_row, bin_column, [&](int64_t at, double weight) {
    const double value = weight * to_double(plane[at]);
    if (first || best.value < value) best = {value, at, weight};
    first = false;
  });
  const bool has_outside = rows.size() * columns.size() < across.count * along.count;
  return has_outside && best.value < 0 ? Part() : best;
}

/// Number of samples by which the sum of a bin is divided.
double samples(const Bins& across, const Bins& along) {
  return static_cast<double>(std::max<int64_t>(1, across.count * along.count));
}

/// The mean of the samples of a bin, or the largest of their weighted neighbours.
template <class T>
double bin_value(const AlignState& s, const Bins& across, const Bins& along, const T* plane, int64_t bin_row,
                 int64_t bin_column) {
  if (s.attributes.mode == "max") return largest_part(s, across, along, plane, bin_row, bin_column).value;
  double sum = 0;
  for_each_part(s, across, along, bin_row, bin_column,
                [&](int64_t at, double weight) { sum += weight * to_double(plane[at]); });
  return sum / samples(across, along);
}

/// Calls body(image, rows of bins, columns of bins) for a region, or returns the reason why it has none.
template <class Body>
Status with_region(const AlignState& s, const Call& call, int64_t index, const Body& body) {
  using In = RoiAlign::in;
  const RoiAlign& a = s.attributes;
  const int64_t image = call.in[In::batch_indices].as<const int64_t>()[index];
  if (image < 0 || image >= s.images)
    return Status(errors::operand_index_out_of_range(fmt::format("image of region {}", index), image,
                                                     fmt::format("0 to {}", s.images - 1)));
  return with_any_float(call.in[In::rois].dtype, [&]<class T>() -> Status {
    const T* roi = call.in[In::rois].as<const T>() + index * 4;
    const double corners[4] = {to_double(roi[0]), to_double(roi[1]), to_double(roi[2]), to_double(roi[3])};
    const Region region(a, corners);
    if (!region.is_bounded()) return Status(errors::region_too_large(index, region.height, region.width, kMostPixels));
    body(image, Bins(region.y, region.height, a.output_height, a.sampling_ratio),
         Bins(region.x, region.width, a.output_width, a.sampling_ratio));
    return {};
  });
}

Status run_align(const Call& call, int, int64_t index) {
  const auto& s = state_of<AlignState>(call);
  const RoiAlign& a = s.attributes;
  return with_region(s, call, index, [&](int64_t image, const Bins& rows, const Bins& columns) {
    with_any_float(call.out[0].dtype, [&]<class T>() {
      T* dst = call.out[0].as<T>() + index * s.channels * a.output_height * a.output_width;
      for (int64_t c = 0; c < s.channels; ++c) {
        const T* plane = call.in[RoiAlign::in::x].as<const T>() + (image * s.channels + c) * s.height * s.width;
        for (int64_t row = 0; row < a.output_height; ++row) {
          for (int64_t column = 0; column < a.output_width; ++column)
            *dst++ = from_double<T>(bin_value(s, rows, columns, plane, row, column));
        }
      }
    });
  });
}

/// A piece is a plane of x.
Plan prepare_align_grad(const Problem& problem) {
  Plan plan = prepare_align(problem);
  const Dims& x = problem.in[RoiAlignGrad::in::x]->dims;
  plan.worker_scratch = static_cast<size_t>(x[2] * x[3]) * sizeof(double);
  plan.phases = {x[0] * x[1]};
  return plan;
}

/// Adds the gradients of the bins of a region, in order, to the elements of which they are made.
template <class T>
void add_region(const AlignState& s, const Bins& rows, const Bins& columns, const T* plane, const T* out_grad,
                double* sums) {
  const RoiAlign& a = s.attributes;
  for (int64_t row = 0; row < a.output_height; ++row) {
    for (int64_t column = 0; column < a.output_width; ++column) {
      const double gradient = to_double(*out_grad++);
      if (a.mode == "max") {
        const Part part = largest_part(s, rows, columns, plane, row, column);
        if (part.at >= 0) sums[part.at] += part.weight * gradient;
      } else {
        const double share = gradient / samples(rows, columns);
        for_each_part(s, rows, columns, row, column, [&](int64_t at, double weight) { sums[at] += weight * share; });
      }
    }
  }
}

Status run_align_grad(const Call& call, int, int64_t piece) {
  using In = RoiAlignGrad::in;
  const auto& s = state_of<AlignState>(call);
  const int64_t size = s.height * s.width, regions = call.in[In::rois].dims[0];
  const int64_t bins = s.attributes.output_height * s.attributes.output_width;
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  std::fill_n(sums, size, 0.0);
  Status status;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* plane = call.in[In::x].as<const T>() + piece * size;
    for (int64_t index = 0; index < regions && status.ok(); ++index) {
      status = with_region(s, call, index, [&](int64_t image, const Bins& rows, const Bins& columns) {
        const T* out_grad = call.in[In::out_grad].as<const T>() + (index * s.channels + piece % s.channels) * bins;
        if (image == piece / s.channels) add_region(s, rows, columns, plane, out_grad, sums);
      });
    }
    T* dst = call.out[0].as<T>() + piece * size;
    for (int64_t i = 0; i < size; ++i) dst[i] = from_double<T>(sums[i]);
  });
  return status;
}

}  // namespace

extern const Kernel reference_non_maximum_suppression{"reference", accept_all, prepare_select, run_select};
extern const Kernel reference_roi_align{"reference", accept_all, prepare_align, run_align};
extern const Kernel reference_roi_align_grad{"reference", accept_all, prepare_align_grad, run_align_grad};

}  // namespace halfstep::kernels
