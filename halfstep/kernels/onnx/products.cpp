#include "halfstep/kernels/onnx/products.h"

#include <algorithm>

#include "halfstep/kernels/broadcast.h"

namespace halfstep::kernels::onnx {
namespace {

/// Products of a piece of work.
constexpr int64_t kPieceProducts = int64_t{1} << 20;

/// The axes before the last two; none of a list.
std::span<const int64_t> batch_of(const Dims& dims) {
  return std::span(dims).first(dims.size() < 2 ? 0 : dims.size() - 2);
}

/// What padding an automatic mode puts before an axis.
int64_t automatic_begin(int64_t in, int64_t out, int64_t stride, int64_t span, bool lower) {
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + span - in);
  return lower ? total - total / 2 : total / 2;
}

}  // namespace

MatmulShape::MatmulShape(const Dims& a, const Dims& b, const Dims& y) : inner(a.back()) {
  if (a.size() > 1) rows = a[a.size() - 2];
  if (b.size() > 1) columns = b.back();
  const size_t matrix_axes = (a.size() > 1 ? 1 : 0) + (b.size() > 1 ? 1 : 0);
  const auto batch = std::span(y).first(y.size() - matrix_axes);
  const int64_t count = count_elements(batch);
  for (int64_t i = 0; i < count; ++i) {
    a_batch.push_back(broadcast_index(batch_of(a), batch, i));
    b_batch.push_back(broadcast_index(batch_of(b), batch, i));
  }
  rows_per_piece = std::max<int64_t>(1, kPieceProducts / std::max<int64_t>(1, inner * columns));
}

ConvShape::ConvShape(const Dims& x, const Dims& w, const Dims& y, int64_t group_count,
                     const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                     const std::vector<int64_t>& pad, const std::string& auto_pad)
    : n(x[0]), c(x[1]), o(w[0]), groups(group_count) {
  for (auto* extents : {&in, &kernel, &out, &stride, &dilation}) extents->fill(1);
  begin.fill(0);
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    in[axis] = x[i + 2];
    kernel[axis] = w[i + 2];
    out[axis] = y[i + 2];
    if (!strides.empty()) stride[axis] = strides[i];
    if (!dilations.empty()) dilation[axis] = dilations[i];
    if (!pad.empty()) begin[axis] = pad[i];
    if (auto_pad.starts_with("same")) {
      const int64_t span = (kernel[axis] - 1) * dilation[axis] + 1;
      begin[axis] = automatic_begin(in[axis], out[axis], stride[axis], span, auto_pad == "same_lower");
    }
  }
}

}  // namespace halfstep::kernels::onnx
