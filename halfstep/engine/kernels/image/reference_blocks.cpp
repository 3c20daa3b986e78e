// Operators that sample at computed positions, and blocks summed into images. Computed in double, rounded once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/join.h"
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

  int64_t plane() const {
    int64_t count = 1;
    for (const int64_t extent : extents) count *= extent;
    return count;
  }
};

Plan prepare_grid(const Problem& problem) {
  const GridSample a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  const Dims& grid = problem.in[1]->dims;
  int64_t points = 1;
  for (size_t i = 1; i + 1 < grid.size(); ++i) points *= grid[i];
  const std::string mode = a.mode.starts_with("bi") ? a.mode.substr(2) : a.mode;
  auto state = std::make_shared<GridState>(x[0], x[1], points, std::vector<int64_t>(x.begin() + 2, x.end()), mode,
                                           a.padding, a.align_corners);
  return {.state = std::move(state), .phases = {x[0] * x[1]}};
}

double mirrored(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double from_low = std::fabs(x - low), times = std::floor(from_low / range), rest = from_low - times * range;
  return std::fmod(times, 2) == 0 ? low + rest : high - rest;
}

/// Position of the element for `at` on an axis, or -1 if it is in zero padding.
int64_t padded(const GridState& s, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (s.padding == "zeros") return -1;
  if (s.padding == "border") return std::clamp<int64_t>(at, 0, extent - 1);
  const auto size = static_cast<double>(extent);
  const double place = s.align_corners ? mirrored(static_cast<double>(at), 0, size - 1)
                                       : mirrored(static_cast<double>(at), -0.5, size - 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(place), 0, extent - 1);
}

/// The elements of one axis that a sample reads, and their weights.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> at = {};
  std::array<double, 4> weight = {};
};

Taps taps_of(const GridState& s, double place, int64_t extent) {
  const auto size = static_cast<double>(extent);
  double x = s.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
  const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? size - 1 : size - 0.5;
  if (s.mode == "nearest") x = std::rint(x);
  if (x < low || x > high) {
    if (s.padding == "border") x = std::clamp(x, 0.0, size - 1);
    if (s.padding == "reflection") x = mirrored(x, low, high);
  }
  x = x == x ? std::clamp(x, -1e15, 1e15) : -1e15;
  const double whole = std::floor(x), t = x - whole;
  const auto first = static_cast<int64_t>(whole);
  if (s.mode == "nearest") return {1, {padded(s, first, extent)}, {1}};
  if (s.mode == "linear") return {2, {padded(s, first, extent), padded(s, first + 1, extent)}, {1 - t, t}};
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  Taps taps{4, {}, {far(1 + t), near(t), near(1 - t), far(2 - t)}};
  for (int64_t k = 0; k < 4; ++k) taps.at[static_cast<size_t>(k)] = padded(s, first - 1 + k, extent);
  return taps;
}

/// The weighted sum over the axes from `axis` on.
template <class T>
double sampled(const GridState& s, const std::array<Taps, 3>& taps, size_t axis, const T* src) {
  if (axis == s.extents.size()) return to_double(*src);
  int64_t stride = 1;
  for (size_t i = axis + 1; i < s.extents.size(); ++i) stride *= s.extents[i];
  double sum = 0;
  for (int k = 0; k < taps[axis].count; ++k) {
    const auto tap = static_cast<size_t>(k);
    if (taps[axis].at[tap] >= 0)
      sum += taps[axis].weight[tap] * sampled(s, taps, axis + 1, src + taps[axis].at[tap] * stride);
  }
  return sum;
}

Status run_grid(const Call& call, int, int64_t piece) {
  const auto& s = state_of<GridState>(call);
  const size_t axes = s.extents.size();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    with_any_float(call.in[1].dtype, [&]<class G>() {
      const T* plane = call.in[0].as<const T>() + piece * s.plane();
      const G* grid = call.in[1].as<const G>() + piece / s.channels * s.points * static_cast<int64_t>(axes);
      T* dst = call.out[0].as<T>() + piece * s.points;
      for (int64_t point = 0; point < s.points; ++point, grid += axes) {
        std::array<Taps, 3> taps;
        for (size_t axis = 0; axis < axes; ++axis)
          taps[axis] = taps_of(s, to_double(grid[axes - 1 - axis]), s.extents[axis]);
        dst[point] = from_double<T>(sampled(s, taps, 0, plane));
      }
    });
  });
  return {};
}

// affine_grid

struct AffineState {
  std::vector<int64_t> extents;
  int64_t points = 1;
  bool align_corners;
};

Plan prepare_affine(const Problem& problem) {
  const AffineGrid a(problem.attributes);
  auto state = std::make_shared<AffineState>();
  state->extents.assign(a.dims.begin() + 2, a.dims.end());
  for (const int64_t extent : state->extents) state->points *= extent;
  state->align_corners = a.align_corners;
  return {.state = std::move(state), .phases = {problem.in[0]->dims[0]}};
}

Status run_affine(const Call& call, int, int64_t piece) {
  const auto& s = state_of<AffineState>(call);
  const size_t axes = s.extents.size();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* theta = call.in[0].as<const T>() + piece * static_cast<int64_t>(axes * (axes + 1));
    T* dst = call.out[0].as<T>() + piece * s.points * static_cast<int64_t>(axes);
    for (int64_t point = 0; point < s.points; ++point) {
      std::array<double, 3> place = {};
      int64_t rest = point;
      for (size_t axis = axes; axis-- > 0;) {
        const auto extent = static_cast<double>(s.extents[axis]);
        const auto at = static_cast<double>(rest % s.extents[axis]);
        rest /= s.extents[axis];
        const double step = s.align_corners ? 2 / std::max(extent - 1, 1.0) : 2 / extent;
        place[axes - 1 - axis] = s.align_corners ? (extent == 1 ? 0 : -1 + at * step) : -1 + step / 2 + at * step;
      }
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

// col2im

struct BlockState {
  std::array<int64_t, 3> image = {1, 1, 1}, block = {1, 1, 1}, stride = {1, 1, 1}, dilation = {1, 1, 1}, before = {},
                         places = {1, 1, 1};
  int64_t taps() const { return block[0] * block[1] * block[2]; }
  int64_t plane() const { return image[0] * image[1] * image[2]; }
};

Plan prepare_blocks(const Problem& problem) {
  const Col2im a(problem.attributes);
  auto state = std::make_shared<BlockState>();
  const size_t axes = a.image.size(), first = 3 - axes;
  for (size_t i = 0; i < axes; ++i) {
    state->image[first + i] = a.image[i];
    state->block[first + i] = a.block[i];
    if (!a.stride.empty()) state->stride[first + i] = a.stride[i];
    if (!a.dilation.empty()) state->dilation[first + i] = a.dilation[i];
    const int64_t before = a.pad.empty() ? 0 : a.pad[i], after = a.pad.empty() ? 0 : a.pad[axes + i];
    const int64_t span = (a.block[i] - 1) * state->dilation[first + i] + 1;
    state->before[first + i] = before;
    state->places[first + i] = (a.image[i] + before + after - span) / state->stride[first + i] + 1;
  }
  const Dims& out = problem.out[0]->dims;
  const auto scratch = static_cast<size_t>(state->plane()) * sizeof(double);
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {out[0] * out[1]}};
}

Verdict accept_blocks(const Problem& problem) {
  const Plan plan = prepare_blocks(problem);
  const auto& s = *static_cast<const BlockState*>(plan.state.get());
  const int64_t blocks = s.places[0] * s.places[1] * s.places[2];
  if (blocks != problem.in[0]->dims[2])
    return refuse(errors::operand_extents_do_not_fit(
        "x", to_string(problem.in[0]->dims), fmt::format("{} blocks on axis 2, as many as the image has", blocks)));
  return accept();
}

Status run_blocks(const Call& call, int, int64_t piece) {
  const auto& s = state_of<BlockState>(call);
  const int64_t blocks = call.in[0].dims[2];
  with_number(call.out[0].dtype, [&]<class T>() {
    using Total = std::conditional_t<kIsFloat<T>, double, uint64_t>;
    auto* sums = reinterpret_cast<Total*>(call.worker_scratch);
    std::fill_n(sums, s.plane(), Total(0));
    const T* src = call.in[0].as<const T>() + piece * s.taps() * blocks;
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::array<int64_t, 3> k = {tap / s.block[2] / s.block[1], tap / s.block[2] % s.block[1], tap % s.block[2]};
      for (int64_t block = 0; block < blocks; ++block) {
        const std::array<int64_t, 3> p = {block / s.places[2] / s.places[1], block / s.places[2] % s.places[1],
                                          block % s.places[2]};
        int64_t at = 0;
        bool inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int64_t place = p[axis] * s.stride[axis] - s.before[axis] + k[axis] * s.dilation[axis];
          inside = inside && place >= 0 && place < s.image[axis];
          at = at * s.image[axis] + place;
        }
        if (inside) sums[at] += static_cast<Total>(widen(src[tap * blocks + block]));
      }
    }
    T* dst = call.out[0].as<T>() + piece * s.plane();
    for (int64_t i = 0; i < s.plane(); ++i) dst[i] = static_cast<T>(static_cast<Wide<T>>(sums[i]));
  });
  return {};
}

// bit_cast

Verdict accept_bits(const Problem& problem) {
  const DType from = problem.in[0]->dtype, to = problem.out[0]->dtype;
  if (bits_of(from) != bits_of(to))
    return refuse(errors::kernel_takes_other_types("x", name(from), fmt::format("a type of the size of {}", name(to))));
  return accept();
}

Plan prepare_bits(const Problem&) { return {}; }

Status run_bits(const Call& call, int, int64_t) {
  copy_bytes(call.out[0].data, call.in[0].data, call.out[0].size() * static_cast<int64_t>(size_of(call.out[0].dtype)));
  return {};
}

// determinant

struct MatrixState {
  int64_t size;
};

Plan prepare_determinant(const Problem& problem) {
  const int64_t size = problem.in[0]->dims.back();
  return {.state = std::make_shared<MatrixState>(size),
          .worker_scratch = static_cast<size_t>(size * size) * sizeof(double),
          .phases = {count_elements(problem.out[0]->dims)}};
}

/// Gaussian elimination with the largest pivot of each column.
double determinant(double* m, int64_t size) {
  double product = 1;
  for (int64_t column = 0; column < size; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; ++row) {
      if (std::fabs(m[row * size + column]) > std::fabs(m[pivot * size + column])) pivot = row;
    }
    const double value = m[pivot * size + column];
    product *= pivot == column ? value : -value;
    if (value == 0) return 0;
    if (pivot != column) std::swap_ranges(m + pivot * size, m + (pivot + 1) * size, m + column * size);
    for (int64_t row = column + 1; row < size; ++row) {
      const double factor = m[row * size + column] / value;
      for (int64_t i = column; i < size; ++i) m[row * size + i] -= factor * m[column * size + i];
    }
  }
  return product;
}

Status run_determinant(const Call& call, int, int64_t piece) {
  const int64_t size = state_of<MatrixState>(call).size;
  auto* matrix = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>() + piece * size * size;
    for (int64_t i = 0; i < size * size; ++i) matrix[i] = to_double(src[i]);
    call.out[0].as<T>()[piece] = from_double<T>(determinant(matrix, size));
  });
  return {};
}

}  // namespace

extern const Kernel reference_grid_sample{"reference", accept_all, prepare_grid, run_grid};
extern const Kernel reference_affine_grid{"reference", accept_all, prepare_affine, run_affine};
extern const Kernel reference_col2im{"reference", accept_blocks, prepare_blocks, run_blocks};
extern const Kernel reference_bit_cast{"reference", accept_bits, prepare_bits, run_bits};
extern const Kernel reference_determinant{"reference", accept_all, prepare_determinant, run_determinant};

}  // namespace halfstep::kernels
