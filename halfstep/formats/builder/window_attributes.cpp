#include "halfstep/formats/builder/window_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/padding.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

struct Axis {
  int64_t extent, kernel, stride, dilation;
  int64_t dilated_kernel() const { return (kernel - 1) * dilation + 1; }
};

std::vector<int64_t> full(const Node& node, const char* name, std::vector<int64_t> given, size_t count,
                          int64_t otherwise) {
  if (given.empty()) return std::vector<int64_t>(count, otherwise);
  if (given.size() != count)
    fail(errors::wrong_count(node.where(), fmt::format("numbers in attribute {}", name), given.size(), count));
  return given;
}

/// Returns the padding that the last window of ceil_mode needs after the axis. A window that would start in the padding
/// does not count.
int64_t ceil_padding(const Axis& axis, int64_t before, int64_t after) {
  const int64_t room = axis.extent + before + after - axis.dilated_kernel();
  if (room < 0) return 0;
  int64_t steps = ceil_div(room, axis.stride);
  if (steps * axis.stride >= axis.extent + before) --steps;
  return std::max<int64_t>(steps * axis.stride - room, 0);
}

class Resolver {
 public:
  Resolver(const Node& node, const Dims& dims, WindowSpec spec)
      : node_(node), dims_(dims), count_(dims.size() - 2), padding_(spec.padding), ceil_mode_(spec.ceil_mode) {
    constexpr int64_t kLargest = int64_t{1} << 24;
    if (spec.kernel.size() != count_)
      fail(errors::wrong_count(node.where(), "axes of the window", spec.kernel.size(),
                               fmt::format("{} for {}", count_, to_string(dims))));
    window_ = {std::move(spec.kernel), full(node, "strides", std::move(spec.strides), count_, 1),
               full(node, "dilations", std::move(spec.dilations), count_, 1),
               full(node, "pads", std::move(spec.pads), 2 * count_, 0), std::vector<int64_t>(count_, 0)};
    for (const auto* list : {&window_.kernel, &window_.strides, &window_.dilations}) {
      if (std::any_of(list->begin(), list->end(), [](int64_t v) { return v < 1 || v > kLargest; }))
        fail(errors::window_number(node.where(), "window", to_string(*list), 1, kLargest));
    }
    if (std::any_of(window_.pads.begin(), window_.pads.end(), [](int64_t v) { return v < -kLargest || v > kLargest; }))
      fail(errors::window_number(node.where(), "padding", to_string(window_.pads), -kLargest, kLargest));
  }

  Window resolved() {
    if (padding_ == Padding::none) std::fill(window_.pads.begin(), window_.pads.end(), 0);
    if (padding_ == Padding::same_upper || padding_ == Padding::same_lower) pad_same();
    if (!ceil_mode_) return window_;
    for (size_t i = 0; i < count_; ++i) {
      if (window_.strides[i] == 1) continue;  // no window hangs over
      window_.ceil_pads[i] = ceil_padding(axis(i, "ceil_mode"), window_.pads[i], window_.pads[i + count_]);
    }
    return window_;
  }

 private:
  Axis axis(size_t i, const char* what) const {
    if (dims_[i + 2] == kUnknown) fail(errors::depends_on_extents(what));
    return {dims_[i + 2], window_.kernel[i], window_.strides[i], window_.dilations[i]};
  }

  void pad_same() {
    for (size_t i = 0; i < count_; ++i) {
      // With a stride of 1 the padding is the same for every extent.
      const Axis a =
          window_.strides[i] == 1 ? Axis{1, window_.kernel[i], 1, window_.dilations[i]} : axis(i, "automatic padding");
      const AxisPadding padding = same_padding(a.extent, ceil_div(a.extent, a.stride), a.stride, a.dilated_kernel(),
                                               padding_ == Padding::same_upper);
      window_.pads[i] = padding.before;
      window_.pads[i + count_] = padding.after;
    }
  }

  const Node& node_;
  const Dims& dims_;
  size_t count_;
  Padding padding_;
  bool ceil_mode_;
  Window window_;
};

bool all_are(const std::vector<int64_t>& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [value](int64_t v) { return v == value; });
}

/// Whether the pools over planes support the window: no dilation, and padding less than a window.
bool fits_plane(const Window& window, bool counts_padding) {
  const auto [low, high] = std::minmax_element(window.pads.begin(), window.pads.end());
  const int64_t smallest = *std::min_element(window.kernel.begin(), window.kernel.end());
  return window.kernel.size() == 2 && all_are(window.dilations, 1) && *low >= 0 && (*high < smallest || *high == 0) &&
         (!counts_padding || all_are(window.ceil_pads, 0));
}

Window with_ceil_pads(Window window) {
  const size_t count = window.kernel.size();
  for (size_t i = 0; i < count; ++i) window.pads[i + count] += window.ceil_pads[i];
  return window;
}

/// Convert a window over one axis to two axes, the first of extent 1, and values [n, c, w] to [n, c, 1, w] and back.
Window as_plane(const Window& window) {
  if (window.kernel.size() != 1) return window;
  return {{1, window.kernel[0]},
          {1, window.strides[0]},
          {1, window.dilations[0]},
          {0, window.pads[0], 0, window.pads[1]},
          {0, window.ceil_pads[0]}};
}

Operand as_plane(Builder& builder, const Node& node, const Operand& line) {
  if (!line.there() || line.dims().size() != 3) return line;
  const Dims dims = line.dims();
  const bool open = std::count(dims.begin(), dims.end(), kUnknown) > 0;
  return builder.reshaped(node, line, open ? Dims{0, 0, 1, -1} : Dims{dims[0], dims[1], 1, dims[2]});
}

Operand as_line(Builder& builder, const Node& node, const Operand& plane) {
  return builder.reshaped(node, plane, {0, 0, -1});
}

}  // namespace

Window window_of(const Node& node, const Dims& dims, WindowSpec spec) {
  if (dims.size() < 3) fail(errors::wrong_extents(node.where(), to_string(dims), "at least 3 extents"));
  return Resolver(node, dims, std::move(spec)).resolved();
}

Operand convolution(Builder& builder, const Node& node, const std::vector<Operand>& operands, const Window& window,
                    int64_t groups) {
  const bool is_flat = window.kernel.size() <= 2;
  const Window shown = is_flat ? as_plane(window) : window;
  const Attributes attributes = {
      {"groups", groups}, {"stride", shown.strides}, {"dilation", shown.dilations}, {"pad", shown.pads}};
  if (!is_flat) return builder.make_one(node, "conv", operands, attributes);
  std::vector<Operand> planes = operands;
  planes[0] = as_plane(builder, node, planes[0]);
  planes[1] = as_plane(builder, node, planes[1]);
  const Operand y = builder.make_one(node, "conv2d", planes, attributes);
  return window.kernel.size() == 1 ? as_line(builder, node, y) : y;
}

std::vector<Operand> pooled(Builder& builder, const Node& node, const Operand& x, const Window& window,
                            const Pool& pool) {
  Attributes all = pool.attributes;
  const Window flat = with_ceil_pads(as_plane(window));
  if (fits_plane(flat, false) && fits_plane(as_plane(window), pool.counts_padding) && pool.indices.empty()) {
    all.insert({{"kernel", flat.kernel}, {"stride", flat.strides}, {"pad", flat.pads}});
    const Operand y = builder.make_one(node, pool.plane, {as_plane(builder, node, x)}, all);
    return {window.kernel.size() == 1 ? as_line(builder, node, y) : y};
  }
  all.insert({{"kernel", window.kernel},
              {"stride", window.strides},
              {"pad", window.pads},
              {"dilation", window.dilations},
              {"ceil_mode", pool.ceil_mode}});
  all.insert(pool.indices.begin(), pool.indices.end());
  return builder.make(node, pool.general, {x}, all);
}

}  // namespace halfstep::formats
