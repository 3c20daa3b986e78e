// Images sampled at computed positions, and the positions of affine maps. Computed in double, rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

// grid_sample

struct GridState {
  int64_t images, channels, points;
  std::vector<int64_t> extents;  ///< extents of the spatial axes of x
  std::string mode, padding;
  bool align_corners;

  /// Elements from position to position of an axis of x.
  int64_t stride(size_t axis) const {
    int64_t count = 1;
    for (size_t i = axis + 1; i < extents.size(); ++i) count *= extents[i];
    return count;
  }
  int64_t plane() const { return extents[0] * stride(0); }
  /// Numbers in the grid of an image.
  int64_t numbers() const { return points * static_cast<int64_t>(extents.size()); }
};

std::shared_ptr<const GridState> grid_state(const Problem& problem) {
  const GridSample a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  const Dims& grid = problem.in[1]->dims;
  int64_t points = 1;
  for (size_t i = 1; i + 1 < grid.size(); ++i) points *= grid[i];
  const std::string mode = a.mode.starts_with("bi") ? a.mode.substr(2) : a.mode;
  return std::make_shared<GridState>(x[0], x[1], points, std::vector<int64_t>(x.begin() + 2, x.end()), mode, a.padding,
                                     a.align_corners);
}

Plan prepare_grid(const Problem& problem) {
  const auto state = grid_state(problem);
  return {.state = state, .phases = {state->images * state->channels}};
}

/// A position that may depend on a given one, and its derivative.
struct Moved {
  double at, slope;
};

Moved mirrored(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return {low, 0};
  const double from_low = std::fabs(x - low), times = std::floor(from_low / range), rest = from_low - times * range;
  const double slope = x < low ? -1 : 1;
  return std::fmod(times, 2) == 0 ? Moved{low + rest, slope} : Moved{high - rest, -slope};
}

/// Position of the element for `at` on an axis, or -1 if it is in zero padding.
int64_t padded(const GridState& s, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (s.padding == "zeros") return -1;
  if (s.padding == "border") return std::clamp<int64_t>(at, 0, extent - 1);
  const auto size = static_cast<double>(extent);
  const Moved place = s.align_corners ? mirrored(static_cast<double>(at), 0, size - 1)
                                      : mirrored(static_cast<double>(at), -0.5, size - 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(place.at), 0, extent - 1);
}

/// The elements of one axis that a sample reads, their weights, and the derivatives of the weights with respect to the
/// number in the grid.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> at = {};
  std::array<double, 4> weight = {}, slope = {};
};

/// The position on an axis for a number in the grid. A NaN is far outside.
Moved place_of(const GridState& s, double number, int64_t extent) {
  const auto size = static_cast<double>(extent);
  double x = s.align_corners ? (number + 1) / 2 * (size - 1) : ((number + 1) * size - 1) / 2;
  double slope = s.mode == "nearest" ? 0 : s.align_corners ? (size - 1) / 2 : size / 2;
  const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? size - 1 : size - 0.5;
  if (s.mode == "nearest") x = std::rint(x);
  if (x < low || x > high) {
    if (s.padding == "border") {
      x = std::clamp(x, 0.0, size - 1);
      slope = 0;
    }
    if (s.padding == "reflection") {
      const Moved moved = mirrored(x, low, high);
      x = moved.at;
      slope *= moved.slope;
    }
  }
  return {x == x ? std::clamp(x, -1e15, 1e15) : -1e15, slope};
}

Taps taps_of(const GridState& s, double number, int64_t extent) {
  const auto [x, slope] = place_of(s, number, extent);
  const double whole = std::floor(x), t = x - whole;
  const auto first = static_cast<int64_t>(whole);
  if (s.mode == "nearest") return {1, {padded(s, first, extent)}, {1}};
  if (s.mode == "linear")
    return {2, {padded(s, first, extent), padded(s, first + 1, extent)}, {1 - t, t}, {-slope, slope}};
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const auto near_slope = [](double d) { return (3 * (kA + 2) * d - 2 * (kA + 3)) * d; };
  const auto far_slope = [](double d) { return (3 * kA * d - 10 * kA) * d + 8 * kA; };
  Taps taps{4,
            {},
            {far(1 + t), near(t), near(1 - t), far(2 - t)},
            {slope * far_slope(1 + t), slope * near_slope(t), -slope * near_slope(1 - t), -slope * far_slope(2 - t)}};
  for (int64_t k = 0; k < 4; ++k) taps.at[static_cast<size_t>(k)] = padded(s, first - 1 + k, extent);
  return taps;
}

using AllTaps = std::array<Taps, 3>;

/// The taps of the point at which the numbers of a grid begin. Its last axis comes first.
template <class G>
AllTaps taps_of_point(const GridState& s, const G* numbers) {
  const size_t axes = s.extents.size();
  AllTaps taps;
  for (size_t axis = 0; axis < axes; ++axis)
    taps[axis] = taps_of(s, to_double(numbers[axes - 1 - axis]), s.extents[axis]);
  return taps;
}

/// The weighted sum over the axes from `axis` on.
template <class T>
double sampled(const GridState& s, const AllTaps& taps, size_t axis, const T* src) {
  if (axis == s.extents.size()) return to_double(*src);
  const int64_t stride = s.stride(axis);
  double sum = 0;
  for (int k = 0; k < taps[axis].count; ++k) {
    const auto tap = static_cast<size_t>(k);
    if (taps[axis].at[tap] >= 0)
      sum += taps[axis].weight[tap] * sampled(s, taps, axis + 1, src + taps[axis].at[tap] * stride);
  }
  return sum;
}

/// Adds `number` times their weights to the elements that a sample reads. The transpose of `sampled`.
void spread(const GridState& s, const AllTaps& taps, size_t axis, double number, double* dst) {
  if (axis == s.extents.size()) {
    *dst += number;
    return;
  }
  const int64_t stride = s.stride(axis);
  for (size_t tap = 0; tap < static_cast<size_t>(taps[axis].count); ++tap) {
    if (taps[axis].at[tap] >= 0)
      spread(s, taps, axis + 1, number * taps[axis].weight[tap], dst + taps[axis].at[tap] * stride);
  }
}

/// Calls body.template operator()<T, G>() with the types of x and the grid.
template <class Body>
void with_types(const Call& call, const Body& body) {
  with_any_float(call.in[0].dtype, [&]<class T>() {
    with_any_float(call.in[1].dtype, [&]<class G>() { body.template operator()<T, G>(); });
  });
}

Status run_grid(const Call& call, int, int64_t piece) {
  const auto& s = state_of<GridState>(call);
  with_types(call, [&]<class T, class G>() {
    const T* plane = call.in[0].as<const T>() + piece * s.plane();
    const G* grid = call.in[1].as<const G>() + piece / s.channels * s.numbers();
    T* dst = call.out[0].as<T>() + piece * s.points;
    for (int64_t point = 0; point < s.points; ++point, grid += s.extents.size())
      dst[point] = from_double<T>(sampled(s, taps_of_point(s, grid), 0, plane));
  });
  return {};
}

/// A piece is an image. Its scratch is a plane of x and the numbers of the grid.
Plan prepare_grid_grad(const Problem& problem) {
  const auto state = grid_state(problem);
  return {.state = state,
          .worker_scratch = static_cast<size_t>(state->plane() + state->numbers()) * sizeof(double),
          .phases = {state->images}};
}

/// Adds the gradients of the samples of a plane to those of its elements and of the grid.
template <class T, class G>
void add_plane(const GridState& s, const T* plane, const G* grid, const T* out_grad, double* x_sums,
               double* grid_sums) {
  const size_t axes = s.extents.size();
  for (int64_t point = 0; point < s.points; ++point, grid += axes, grid_sums += axes) {
    const double gradient = to_double(out_grad[point]);
    AllTaps taps = taps_of_point(s, grid);
    spread(s, taps, 0, gradient, x_sums);
    for (size_t axis = 0; axis < axes; ++axis) {
      std::swap(taps[axis].weight, taps[axis].slope);
      grid_sums[axes - 1 - axis] += gradient * sampled(s, taps, 0, plane);
      std::swap(taps[axis].weight, taps[axis].slope);
    }
  }
}

Status run_grid_grad(const Call& call, int, int64_t image) {
  using In = GridSampleGrad::in;
  using Out = GridSampleGrad::out;
  const auto& s = state_of<GridState>(call);
  auto* x_sums = reinterpret_cast<double*>(call.worker_scratch);
  double* grid_sums = x_sums + s.plane();
  std::fill_n(grid_sums, s.numbers(), 0.0);
  with_types(call, [&]<class T, class G>() {
    const G* grid = call.in[In::grid].as<const G>() + image * s.numbers();
    for (int64_t at = image * s.channels; at < (image + 1) * s.channels; ++at) {
      std::fill_n(x_sums, s.plane(), 0.0);
      add_plane(s, call.in[In::x].as<const T>() + at * s.plane(), grid,
                call.in[In::out_grad].as<const T>() + at * s.points, x_sums, grid_sums);
      T* x_grad = call.out[Out::x_grad].as<T>() + at * s.plane();
      for (int64_t i = 0; i < s.plane(); ++i) x_grad[i] = from_double<T>(x_sums[i]);
    }
    G* grid_grad = call.out[Out::grid_grad].as<G>() + image * s.numbers();
    for (int64_t i = 0; i < s.numbers(); ++i) grid_grad[i] = from_double<G>(grid_sums[i]);
  });
  return {};
}

// affine_grid

struct AffineState {
  std::vector<int64_t> extents;
  int64_t points = 1;
  bool align_corners;

  /// The position of a point of the result, with the last axis first, and a 1.
  std::array<double, 4> place(int64_t point) const {
    const size_t axes = extents.size();
    std::array<double, 4> place = {};
    for (size_t axis = axes; axis-- > 0; point /= extents[axis]) {
      const auto extent = static_cast<double>(extents[axis]), at = static_cast<double>(point % extents[axis]);
      const double step = align_corners ? 2 / std::max(extent - 1, 1.0) : 2 / extent;
      place[axes - 1 - axis] = align_corners ? (extent == 1 ? 0 : -1 + at * step) : -1 + step / 2 + at * step;
    }
    place[axes] = 1;
    return place;
  }
};

template <class Typed>
Plan prepare_affine(const Problem& problem) {
  const AffineGrid a(problem.attributes);
  auto state = std::make_shared<AffineState>();
  state->extents.assign(a.dims.begin() + 2, a.dims.end());
  for (const int64_t extent : state->extents) state->points *= extent;
  state->align_corners = a.align_corners;
  return {.state = std::move(state), .phases = {problem.in[Typed::in::theta]->dims[0]}};
}

Status run_affine(const Call& call, int, int64_t piece) {
  const auto& s = state_of<AffineState>(call);
  const size_t axes = s.extents.size();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* theta = call.in[0].as<const T>() + piece * static_cast<int64_t>(axes * (axes + 1));
    T* dst = call.out[0].as<T>() + piece * s.points * static_cast<int64_t>(axes);
    for (int64_t point = 0; point < s.points; ++point) {
      const auto place = s.place(point);
      for (size_t row = 0; row < axes; ++row) {
        const T* map = theta + row * (axes + 1);
        double sum = to_double(map[axes]);
        for (size_t k = 0; k < axes; ++k) sum += to_double(map[k]) * place[k];
        *dst++ = from_double<T>(sum);
      }
    }
  });
  return {};
}

Status run_affine_grad(const Call& call, int, int64_t piece) {
  using In = AffineGridGrad::in;
  const auto& s = state_of<AffineState>(call);
  const size_t axes = s.extents.size(), columns = axes + 1;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[In::out_grad].as<const T>() + piece * s.points * static_cast<int64_t>(axes);
    std::array<double, 12> sums = {};
    for (int64_t point = 0; point < s.points; ++point) {
      const auto place = s.place(point);
      for (size_t row = 0; row < axes; ++row, ++out_grad) {
        for (size_t k = 0; k < columns; ++k) sums[row * columns + k] += to_double(*out_grad) * place[k];
      }
    }
    T* dst = call.out[0].as<T>() + piece * static_cast<int64_t>(axes * columns);
    for (size_t i = 0; i < axes * columns; ++i) dst[i] = from_double<T>(sums[i]);
  });
  return {};
}

}  // namespace

extern const Kernel reference_grid_sample{"reference", accept_all, prepare_grid, run_grid};
extern const Kernel reference_grid_sample_grad{"reference", accept_all, prepare_grid_grad, run_grid_grad};
extern const Kernel reference_affine_grid{"reference", accept_all, prepare_affine<AffineGrid>, run_affine};
extern const Kernel reference_affine_grid_grad{"reference", accept_all, prepare_affine<AffineGridGrad>,
                                               run_affine_grad};

}  // namespace halfstep::kernels
