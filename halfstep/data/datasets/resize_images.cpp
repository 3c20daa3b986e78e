#include "halfstep/data/datasets/resize_images.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace halfstep::data {
namespace {

constexpr int kFraction = 22;

/// Inputs and weights of one output element.
template <class Weight>
struct Taps {
  int64_t first = 0;
  std::vector<Weight> weights;
};

std::vector<double> triangle(double middle, double support, int64_t first, int64_t last) {
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = first; i < last; ++i) {
    weights.push_back(std::max(0.0, 1.0 - std::fabs((static_cast<double>(i) + 0.5 - middle) / support)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

template <class Weight>
std::vector<Taps<Weight>> taps_of(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(1.0, scale);
  std::vector<Taps<Weight>> all;
  for (int64_t i = 0; i < to; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(middle - support + 0.5)));
    const int64_t last = std::min(from, static_cast<int64_t>(std::floor(middle + support + 0.5)));
    Taps<Weight> taps{first, {}};
    for (const double weight : triangle(middle, support, first, last))
      taps.weights.push_back(static_cast<Weight>(
          std::is_integral_v<Weight> ? std::floor(0.5 + weight * static_cast<double>(1 << kFraction)) : weight));
    all.push_back(std::move(taps));
  }
  return all;
}

uint8_t finished(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kFraction, 0, 255)); }
float finished(double sum) { return static_cast<float>(sum); }

/// `inner` is the number of contiguous elements at each position of the axis, `outer` the number of repetitions of the
/// axis.
template <class T, class Weight>
void run(std::span<const T> from, std::span<T> to, int64_t outer, int64_t inner, int64_t old_extent, int64_t extent) {
  const auto taps = taps_of<Weight>(old_extent, extent);
  constexpr Weight kStart = std::is_integral_v<Weight> ? static_cast<Weight>(1 << (kFraction - 1)) : Weight{};
  std::vector<Weight> sums(static_cast<size_t>(inner));
  T* out = to.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const Taps<Weight>& tap : taps) {
      std::ranges::fill(sums, kStart);
      const T* in = from.data() + (o * old_extent + tap.first) * inner;
      for (const Weight weight : tap.weights) {
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += weight * static_cast<Weight>(in[i]);
        in += inner;
      }
      for (const Weight sum : sums) *out++ = finished(sum);
    }
  }
}

}  // namespace

Tensor resample(const Tensor& x, size_t axis, int64_t extent) {
  Dims dims = x.dims();
  const int64_t old_extent = dims[axis];
  if (old_extent == extent) return x;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const int64_t outer = count_elements({dims.begin(), dims.begin() + at});
  const int64_t inner = count_elements({dims.begin() + at + 1, dims.end()});
  dims[axis] = extent;
  Tensor result = Tensor::uninitialized(x.dtype(), std::move(dims));
  if (x.dtype() == DType::u8) {
    run<uint8_t, int32_t>(x.data<uint8_t>(), result.data<uint8_t>(), outer, inner, old_extent, extent);
  } else {
    run<float, double>(x.data<float>(), result.data<float>(), outer, inner, old_extent, extent);
  }
  return result;
}

Tensor resample_nearest(const Tensor& x, size_t axis, int64_t extent) {
  Dims dims = x.dims();
  const int64_t old_extent = dims[axis];
  if (old_extent == extent) return x;
  const int64_t outer = count_elements(std::span(dims).first(axis));
  const auto inner = static_cast<size_t>(count_elements(std::span(dims).subspan(axis + 1))) * size_of(x.dtype());
  dims[axis] = extent;
  Tensor result = Tensor::uninitialized(x.dtype(), std::move(dims));
  std::byte* to = result.raw();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t from = o * old_extent + (2 * i + 1) * old_extent / (2 * extent);
      to = std::copy_n(x.raw() + static_cast<size_t>(from) * inner, inner, to);
    }
  }
  return result;
}

}  // namespace halfstep::data
