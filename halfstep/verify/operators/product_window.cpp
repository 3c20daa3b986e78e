#include "halfstep/verify/operators/product_window.h"

#include <algorithm>

#include "halfstep/core/base/padding.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::verify {
namespace {

std::vector<int64_t> list(Op op, const char* attribute) {
  const auto found = op.attributes().find(attribute);
  return found == op.attributes().end() ? std::vector<int64_t>() : std::get<std::vector<int64_t>>(found->second);
}

std::string text(Op op, const char* attribute) {
  const auto found = op.attributes().find(attribute);
  return found == op.attributes().end() ? std::string() : std::get<std::string>(found->second);
}

/// Extents [n, c, ...] with spatial axes of extent 1 in front of the others.
std::array<int64_t, 5> five(const Dims& dims) {
  std::array<int64_t, 5> all{dims[0], dims[1], 1, 1, 1};
  std::copy(dims.begin() + 2, dims.end(), all.end() - (std::ssize(dims) - 2));
  return all;
}

/// The last elements of `to` take the elements of `from`.
void end_with(std::array<int64_t, 3>& to, std::span<const int64_t> from) {
  std::ranges::copy(from, to.end() - std::ssize(from));
}

}  // namespace

bool is_convolution(Op op) { return op.is<ops::Conv2d, ops::Conv, ops::ConvTranspose>(); }

ProductWindow::ProductWindow(Op op)
    : transposed_(op.is<ops::ConvTranspose>()),
      x_(five(op.in(0).dims())),
      y_(five(op.out(0).dims())),
      groups_(get<int64_t>(op.attributes(), "groups")),
      inputs_(x_[1] / groups_) {
  kernel_.fill(1);
  stride_.fill(1);
  dilation_.fill(1);
  const Dims& w = op.in(op.info().quant.weight).dims();
  end_with(kernel_, std::span(w).subspan(2));
  end_with(stride_, list(op, "stride"));
  end_with(dilation_, list(op, "dilation"));
  set_padding(op);
}

void ProductWindow::set_padding(Op op) {
  const size_t rank = op.in(0).dims().size() - 2;
  const auto pad = list(op, "pad"), shape = list(op, "output_shape"), extra = list(op, "output_padding");
  if (!pad.empty()) end_with(before_, std::span(pad).first(rank));
  const std::string automatic = text(op, "auto_pad");
  if (!automatic.starts_with("same") && shape.empty()) return;
  for (size_t axis = kAxes - rank; axis < kAxes; ++axis) {
    const int64_t span = (kernel_[axis] - 1) * dilation_[axis] + 1;
    // A transposed convolution covers its result with as many windows as x has elements.
    const int64_t extent = transposed_ ? y_[axis + 2] : x_[axis + 2],
                  windows = transposed_ ? x_[axis + 2] : y_[axis + 2];
    const int64_t more = extra.empty() ? 0 : extra[axis + rank - kAxes];
    before_[axis] = same_padding(extent, windows, stride_[axis], span + more, automatic == "same_upper").before;
  }
}

int64_t ProductWindow::place(size_t axis, int64_t out, int64_t tap) const {
  int64_t at = out * stride_[axis] - before_[axis] + tap * dilation_[axis];
  if (transposed_) {
    const int64_t distance = out + before_[axis] - tap * dilation_[axis];
    at = distance % stride_[axis] == 0 ? distance / stride_[axis] : -1;
  }
  return at >= 0 && at < x_[axis + 2] ? at : -1;
}

void ProductWindow::fill(int64_t patch, std::vector<int64_t>& indices) const {
  const int64_t at = patch % plane();
  const Axes out{at / (y_[3] * y_[4]), at / y_[4] % y_[3], at % y_[4]};
  const int64_t first = patch / plane() * inputs_;  // index over the channels of all images
  auto next = indices.begin();
  for (int64_t c = first; c < first + inputs_; ++c) {
    for (int64_t kd = 0; kd < kernel_[0]; ++kd) {
      const int64_t d = place(0, out[0], kd);
      for (int64_t kh = 0; kh < kernel_[1]; ++kh) {
        const int64_t h = place(1, out[1], kh), row = ((c * x_[2] + d) * x_[3] + h) * x_[4];
        for (int64_t kw = 0; kw < kernel_[2]; ++kw) {
          const int64_t w = place(2, out[2], kw);
          *next++ = d < 0 || h < 0 || w < 0 ? -1 : row + w;
        }
      }
    }
  }
}

template <class Visit>
void ProductWindow::for_each_weight(Visit visit) const {
  const auto [depth, height, width] = kernel_;
  const int64_t taps = depth * height * width, made = outputs() / groups_;
  for (int64_t o = 0; o < outputs(); ++o) {
    for (int64_t i = 0; i < inputs_; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t at = transposed_ ? taps - 1 - tap : tap, plane = height * width;
        const int64_t program = ((o * depth + at / plane) * inputs_ + i) * plane + at % plane;
        const int64_t row = (o * inputs_ + i) * taps + tap;
        const int64_t source = transposed_ ? ((o / made * inputs_ + i) * made + o % made) * taps + tap : row;
        visit(static_cast<size_t>(source), static_cast<size_t>(program), static_cast<size_t>(row));
      }
    }
  }
}

std::vector<double> ProductWindow::rows(std::span<const double> stored) const {
  std::vector<double> rows(stored.size());
  for_each_weight([&](size_t source, size_t, size_t row) { rows[row] = stored[source]; });
  return rows;
}

std::vector<double> ProductWindow::stored(std::span<const double> program) const {
  std::vector<double> stored(program.size());
  for_each_weight([&](size_t source, size_t place, size_t) { stored[source] = program[place]; });
  return stored;
}

}  // namespace halfstep::verify
