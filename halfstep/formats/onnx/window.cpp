#include "halfstep/formats/onnx/window.h"

#include <algorithm>

namespace halfstep::formats::onnx {
namespace {

struct Axis {
  int64_t extent, kernel, stride, dilation;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

std::vector<int64_t> full(const Node& node, const char* name, size_t count, int64_t otherwise) {
  const auto given = node.integers(name);
  if (!given || given->empty()) return std::vector<int64_t>(count, otherwise);
  if (given->size() != count)
    fail("{}: attribute {} has {} numbers, expected {}", node.where(), name, given->size(), count);
  return *given;
}

/// Padding of one axis so that the result is ceil(extent / stride); the odd element comes last with same_upper.
std::pair<int64_t, int64_t> same_padding(const Axis& axis, bool upper) {
  const int64_t result = (axis.extent + axis.stride - 1) / axis.stride;
  const int64_t all = std::max<int64_t>((result - 1) * axis.stride + axis.reach() - axis.extent, 0);
  return upper ? std::pair(all / 2, all - all / 2) : std::pair(all - all / 2, all / 2);
}

/// What the last window of ceil_mode needs behind the axis; a window that would start in the padding does not count.
int64_t ceil_padding(const Axis& axis, int64_t before, int64_t after) {
  const int64_t room = axis.extent + before + after - axis.reach();
  if (room < 0) return 0;
  int64_t steps = (room + axis.stride - 1) / axis.stride;
  if (steps * axis.stride >= axis.extent + before) --steps;
  return std::max<int64_t>(steps * axis.stride - room, 0);
}

class Resolver {
 public:
  Resolver(const Node& node, const Dims& dims, std::vector<int64_t> kernel)
      : node_(node), dims_(dims), count_(dims.size() - 2) {
    constexpr int64_t kLargest = int64_t{1} << 31;
    if (kernel.size() != count_)
      fail("{}: found a window over {} axes of {}", node.where(), kernel.size(), to_string(dims));
    window_ = {std::move(kernel), full(node, "strides", count_, 1), full(node, "dilations", count_, 1),
               full(node, "pads", 2 * count_, 0), std::vector<int64_t>(count_, 0)};
    for (const auto* list : {&window_.kernel, &window_.strides, &window_.dilations}) {
      if (std::any_of(list->begin(), list->end(), [](int64_t v) { return v < 1 || v > kLargest; }))
        fail("{}: found the window {}, expected numbers from 1 on", node.where(), to_string(*list));
    }
    if (std::any_of(window_.pads.begin(), window_.pads.end(), [](int64_t v) { return v < -kLargest || v > kLargest; }))
      fail("{}: found the padding {}", node.where(), to_string(window_.pads));
  }

  Window resolved() {
    const std::string automatic = node_.text("auto_pad", "NOTSET");
    if (automatic == "VALID")
      std::fill(window_.pads.begin(), window_.pads.end(), 0);
    else if (automatic != "NOTSET" && !automatic.empty())
      pad_same(automatic);
    if (node_.integer("ceil_mode", 0) == 0) return window_;
    for (size_t i = 0; i < count_; ++i)
      window_.ceil_pads[i] = ceil_padding(axis(i, "ceil_mode"), window_.pads[i], window_.pads[i + count_]);
    return window_;
  }

 private:
  Axis axis(size_t i, const char* what) const {
    if (dims_[i + 2] == kUnknown)
      throw NeedsExtents(fmt::format("{}: {} depends on an open extent", node_.where(), what));
    return {dims_[i + 2], window_.kernel[i], window_.strides[i], window_.dilations[i]};
  }

  void pad_same(const std::string& automatic) {
    if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
      fail("{}: found auto_pad {}", node_.where(), quote(automatic));
    for (size_t i = 0; i < count_; ++i)
      std::tie(window_.pads[i], window_.pads[i + count_]) =
          same_padding(axis(i, "auto_pad"), automatic == "SAME_UPPER");
  }

  const Node& node_;
  const Dims& dims_;
  size_t count_;
  Window window_;
};

bool all_are(const std::vector<int64_t>& list, int64_t value) {
  return std::all_of(list.begin(), list.end(), [value](int64_t v) { return v == value; });
}

/// What the pools over planes can say: no dilation, and padding less than a window.
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

}  // namespace

Window window_of(const Node& node, const Dims& dims, std::vector<int64_t> kernel) {
  if (dims.size() < 3) fail("{}: found the extents {}, expected at least 3", node.where(), to_string(dims));
  return Resolver(node, dims, std::move(kernel)).resolved();
}

Window as_plane(const Window& window) {
  if (window.kernel.size() != 1) return window;
  return {{1, window.kernel[0]},
          {1, window.strides[0]},
          {1, window.dilations[0]},
          {0, window.pads[0], 0, window.pads[1]},
          {0, window.ceil_pads[0]}};
}

Operand as_plane(Translator& translator, const Node& node, const Operand& line) {
  if (!line.there() || line.dims().size() != 3) return line;
  const Dims dims = line.dims();
  const bool open = std::count(dims.begin(), dims.end(), kUnknown) > 0;
  return translator.reshaped(node, line, open ? Dims{0, 0, 1, -1} : Dims{dims[0], dims[1], 1, dims[2]});
}

Operand as_line(Translator& translator, const Node& node, const Operand& plane) {
  return translator.reshaped(node, plane, {0, 0, -1});
}

void translate_pool(Translator& translator, const Node& node, std::string_view plane, std::string_view general,
                    const Attributes& attributes, bool counts_padding) {
  const Operand x = translator.in(node, 0);
  node.attribute("storage_order");  // of indices alone
  const auto kernel = node.integers("kernel_shape");
  if (!x.there() || !kernel) fail("{}: found no input or no kernel_shape", node.where());
  const Window window = window_of(node, x.dims(), *kernel);
  const bool is_line = kernel->size() == 1;
  const Window flat = with_ceil_pads(as_plane(window));
  if (fits_plane(flat, false) && fits_plane(as_plane(window), counts_padding) && !node.has_output(1)) {
    Attributes all = attributes;
    all.insert({{"kernel", flat.kernel}, {"stride", flat.strides}, {"pad", flat.pads}});
    const Operand y = translator.make_one(node, plane, {as_plane(translator, node, x)}, all);
    return translator.set(node, 0, is_line ? as_line(translator, node, y) : y);
  }
  Attributes all = attributes;
  all.insert({{"kernel", window.kernel},
              {"stride", window.strides},
              {"pad", window.pads},
              {"dilation", window.dilations},
              {"ceil_mode", node.integer("ceil_mode", 0) != 0}});
  if (node.has_output(1)) all.insert({{"with_indices", true}, {"storage_order", node.integer("storage_order", 0)}});
  translator.set_all(node, translator.make(node, general, {x}, all));
}

}  // namespace halfstep::formats::onnx
