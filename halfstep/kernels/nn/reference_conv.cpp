// Convolution over one to three spatial axes and its transpose. Every element is one sum in double over channels, then
// taps, rounded once.
#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/number_types.h"
#include "halfstep/kernels/onnx/products.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace nn {
namespace {

using onnx::ConvShape;
using Three = std::array<int64_t, 3>;

/// Places of one axis that meet each other: place p of the one axis and p * stride + shift of the other, which has
/// `extent` elements; those p in [begin, end) have a partner.
struct Overlap {
  int64_t begin, end, shift;

  Overlap(int64_t count, int64_t stride, int64_t offset, int64_t extent) : shift(offset) {
    begin = offset >= 0 ? 0 : ceil_div(-offset, stride);
    end = extent - offset <= 0 ? 0 : std::min(count, (extent - offset - 1) / stride + 1);
  }
};

/// sums[p] += factor * x[p * stride + shift] over three axes.
template <class T>
void gather_tap(const ConvShape& s, const std::array<Overlap, 3>& m, double factor, const T* plane, double* sums) {
  for (int64_t i = m[0].begin; i < m[0].end; ++i) {
    for (int64_t j = m[1].begin; j < m[1].end; ++j) {
      const T* row = plane + ((i * s.stride[0] + m[0].shift) * s.in[1] + j * s.stride[1] + m[1].shift) * s.in[2];
      double* dst = sums + (i * s.out[1] + j) * s.out[2];
      const T* src = row + m[2].shift;
      const int64_t step = s.stride[2];
      if (step == 1) {
        for (int64_t k = m[2].begin; k < m[2].end; ++k) dst[k] += factor * to_double(src[k]);
      } else {
        for (int64_t k = m[2].begin; k < m[2].end; ++k) dst[k] += factor * to_double(src[k * step]);
      }
    }
  }
}

/// visit(tap, offsets of the tap along the axes) for the taps of a kernel in order.
template <class Visit>
void for_each_tap(const ConvShape& s, const Visit& visit) {
  int64_t tap = 0;
  for (int64_t i = 0; i < s.kernel[0]; ++i) {
    for (int64_t j = 0; j < s.kernel[1]; ++j) {
      for (int64_t k = 0; k < s.kernel[2]; ++k)
        visit(tap++,
              Three{i * s.dilation[0] - s.begin[0], j * s.dilation[1] - s.begin[1], k * s.dilation[2] - s.begin[2]});
    }
  }
}

Plan prepare_conv(const Problem& problem) {
  const auto shape = ConvShape::of(Conv(problem.attributes), problem.in[Conv::in::x]->dims,
                                   problem.in[Conv::in::w]->dims, problem.out[0]->dims);
  return {.state = std::make_shared<ConvShape>(shape),
          .worker_scratch = static_cast<size_t>(shape.y_plane()) * sizeof(double),
          .phases = {shape.n * shape.o}};
}

template <class T>
void store_plane(const double* sums, int64_t size, const T* bias, int64_t channel, T* dst) {
  const double offset = bias == nullptr ? 0.0 : to_double(bias[channel]);
  for (int64_t i = 0; i < size; ++i) dst[i] = from_double<T>(bias == nullptr ? sums[i] : sums[i] + offset);
}

Status run_conv(const Call& call, int, int64_t piece) {
  using In = Conv::in;
  const auto& s = state_of<ConvShape>(call);
  const int64_t image = piece / s.o, channel = piece % s.o, group = channel / s.group_out();
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  std::fill_n(sums, s.y_plane(), 0.0);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* x = call.in[In::x].as<const T>() + (image * s.c + group * s.group_in()) * s.x_plane();
    const T* w = call.in[In::w].as<const T>() + channel * s.group_in() * s.taps();
    for (int64_t c = 0; c < s.group_in(); ++c) {
      for_each_tap(s, [&](int64_t tap, const Three& offset) {
        const std::array<Overlap, 3> overlaps = {Overlap(s.out[0], s.stride[0], offset[0], s.in[0]),
                                                 Overlap(s.out[1], s.stride[1], offset[1], s.in[1]),
                                                 Overlap(s.out[2], s.stride[2], offset[2], s.in[2])};
        gather_tap(s, overlaps, to_double(w[c * s.taps() + tap]), x + c * s.x_plane(), sums);
      });
    }
    store_plane(sums, s.y_plane(), call.in[In::b].as<const T>(), channel, call.out[0].as<T>() + piece * s.y_plane());
  });
  return {};
}

// conv_transpose: in ConvShape `in` is what the layer gives and `out` what it takes, as the convolution whose gradient
// it is has them.

struct TransposeShape {
  ConvShape conv;
  int64_t outputs;  ///< channels of the result
};

/// What stands before each axis of the result, as the attributes say or what is over demands.
int64_t padding_before(const ConvTranspose& a, size_t axis, int64_t in, int64_t out, int64_t span) {
  const bool same = a.auto_pad.starts_with("same");
  if (a.output_shape.empty() && !same) return a.pad.empty() ? 0 : a.pad[axis];
  const int64_t stride = a.stride.empty() ? 1 : a.stride[axis];
  const int64_t extra = a.output_padding.empty() ? 0 : a.output_padding[axis];
  const int64_t over = std::max<int64_t>(0, stride * (in - 1) + extra + span - out);
  return a.auto_pad == "same_upper" ? over / 2 : over - over / 2;
}

Plan prepare_conv_transpose(const Problem& problem) {
  const ConvTranspose a(problem.attributes);
  const Dims& x = problem.in[ConvTranspose::in::x]->dims;
  const Dims& w = problem.in[ConvTranspose::in::w]->dims;
  const Dims& out = problem.out[0]->dims;
  ConvShape s = ConvShape::of(a, out, w, x);
  s.c = x[1];
  s.o = w[1];
  const size_t spatial = x.size() - 2, first = 3 - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t span = (w[2 + i] - 1) * s.dilation[first + i] + 1;
    s.begin[first + i] = padding_before(a, i, x[2 + i], out[2 + i], span);
  }
  const auto scratch = static_cast<size_t>(s.x_plane()) * sizeof(double);
  return {.state = std::make_shared<TransposeShape>(s, out[1]), .worker_scratch = scratch, .phases = {s.n * out[1]}};
}

/// sums[p * stride + shift] += factor * x[p] over three axes.
template <class T>
void scatter_tap(const ConvShape& s, const std::array<Overlap, 3>& m, double factor, const T* plane, double* sums) {
  for (int64_t i = m[0].begin; i < m[0].end; ++i) {
    for (int64_t j = m[1].begin; j < m[1].end; ++j) {
      const T* src = plane + (i * s.out[1] + j) * s.out[2];
      double* dst =
          sums + ((i * s.stride[0] + m[0].shift) * s.in[1] + j * s.stride[1] + m[1].shift) * s.in[2] + m[2].shift;
      for (int64_t k = m[2].begin; k < m[2].end; ++k) dst[k * s.stride[2]] += factor * to_double(src[k]);
    }
  }
}

Status run_conv_transpose(const Call& call, int, int64_t piece) {
  using In = ConvTranspose::in;
  const auto& [s, outputs] = state_of<TransposeShape>(call);
  const int64_t image = piece / outputs, channel = piece % outputs;
  const int64_t group = channel / s.o, inner = channel % s.o, group_in = s.c / s.groups;
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  std::fill_n(sums, s.x_plane(), 0.0);
  with_any_float(call.out[0].dtype, [&, &s = s]<class T>() {
    const T* x = call.in[In::x].as<const T>() + (image * s.c + group * group_in) * s.y_plane();
    const T* w = call.in[In::w].as<const T>() + (group * group_in * s.o + inner) * s.taps();
    for (int64_t c = 0; c < group_in; ++c) {
      for_each_tap(s, [&](int64_t tap, const Three& offset) {
        const std::array<Overlap, 3> overlaps = {Overlap(s.out[0], s.stride[0], offset[0], s.in[0]),
                                                 Overlap(s.out[1], s.stride[1], offset[1], s.in[1]),
                                                 Overlap(s.out[2], s.stride[2], offset[2], s.in[2])};
        scatter_tap(s, overlaps, to_double(w[c * s.o * s.taps() + tap]), x + c * s.y_plane(), sums);
      });
    }
    store_plane(sums, s.x_plane(), call.in[In::b].as<const T>(), channel, call.out[0].as<T>() + piece * s.x_plane());
  });
  return {};
}

}  // namespace
}  // namespace nn

extern const Kernel reference_conv{"reference", accept_all, nn::prepare_conv, nn::run_conv};
extern const Kernel reference_conv_transpose{"reference", accept_all, nn::prepare_conv_transpose,
                                             nn::run_conv_transpose};

}  // namespace halfstep::kernels
