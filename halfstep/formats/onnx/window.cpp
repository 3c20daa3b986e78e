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
  int64_t steps = (room + axis.stride - 1) / axis.stride;
  if (steps * axis.stride >= axis.extent + before) --steps;
  return std::max<int64_t>(steps * axis.stride - room, 0);
}

class Window {
 public:
  Window(const Node& node, const Dims& dims, std::vector<int64_t> kernel)
      : node_(node), dims_(dims), count_(dims.size() - 2), kernel_(std::move(kernel)) {
    if (kernel_.size() != count_)
      fail("{}: found a window over {} axes of {}", node.where(), kernel_.size(), to_string(dims));
    strides_ = full(node, "strides", count_, 1);
    dilations_ = full(node, "dilations", count_, 1);
    pads_ = full(node, "pads", 2 * count_, 0);
    for (size_t i = 0; i < count_; ++i) {
      if (strides_[i] < 1 || dilations_[i] < 1 || kernel_[i] < 1)
        fail("{}: found a stride, dilation or kernel below 1", node.where());
    }
  }

  Node resolved() {
    const std::string automatic = node_.text("auto_pad", "NOTSET");
    if (automatic == "VALID")
      std::fill(pads_.begin(), pads_.end(), 0);
    else if (automatic != "NOTSET" && !automatic.empty())
      pad_same(automatic);
    if (node_.integer("ceil_mode", 0) != 0) pad_ceil();
    return node_.with("kernel_shape", kernel_)
        .with("strides", strides_)
        .with("dilations", dilations_)
        .with("pads", pads_)
        .without("auto_pad")
        .without("ceil_mode");
  }

 private:
  Axis axis(size_t i, const char* what) const {
    if (dims_[i + 2] == kUnknown)
      throw NeedsExtents(fmt::format("{}: {} depends on an open extent", node_.where(), what));
    return {dims_[i + 2], kernel_[i], strides_[i], dilations_[i]};
  }

  void pad_same(const std::string& automatic) {
    if (automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
      fail("{}: found auto_pad {}", node_.where(), quote(automatic));
    for (size_t i = 0; i < count_; ++i)
      std::tie(pads_[i], pads_[i + count_]) = same_padding(axis(i, "auto_pad"), automatic == "SAME_UPPER");
  }

  /// A mean that counts padding counts the given padding alone.
  void pad_ceil() {
    for (size_t i = 0; i < count_; ++i) {
      const int64_t more = ceil_padding(axis(i, "ceil_mode"), pads_[i], pads_[i + count_]);
      if (more > 0 && node_.integer("count_include_pad", 0) != 0)
        Translator::refuse(node_, "ceil_mode = 1 with count_include_pad = 1 is not supported");
      pads_[i + count_] += more;
    }
  }

  const Node& node_;
  const Dims& dims_;
  size_t count_;
  std::vector<int64_t> kernel_, strides_, dilations_, pads_;
};

}  // namespace

Node with_full_window(const Node& node, const Dims& dims, std::vector<int64_t> kernel) {
  if (dims.size() < 3) fail("{}: found the extents {}, expected at least 3", node.where(), to_string(dims));
  return Window(node, dims, std::move(kernel)).resolved();
}

Node as_plane(const Node& node) {
  Node plane = node;
  for (const char* name : {"kernel_shape", "strides", "dilations", "output_padding"}) {
    const auto list = node.integers(name);
    if (list && list->size() == 1)
      plane = plane.with(name, {std::string_view(name) == "output_padding" ? 0 : 1, (*list)[0]});
  }
  if (const auto pads = node.integers("pads"); pads && pads->size() == 2)
    plane = plane.with("pads", {0, (*pads)[0], 0, (*pads)[1]});
  return plane;
}

std::vector<Operand> as_planes(Translator& translator, const Node& node, std::vector<Operand> inputs) {
  for (Operand& input : inputs) {
    if (input.there() && input.dims().size() == 3) {
      const Dims dims = input.dims();
      const bool open = std::count(dims.begin(), dims.end(), kUnknown) > 0;
      input = translator.reshaped(node, input, open ? Dims{0, 0, 1, -1} : Dims{dims[0], dims[1], 1, dims[2]});
    }
  }
  return inputs;
}

Operand as_line(Translator& translator, const Node& node, const Operand& plane) {
  return translator.reshaped(node, plane, {0, 0, -1});
}

void translate_pool(Translator& translator, const Node& node) {
  std::vector<Operand> inputs = translator.inputs(node);
  const auto kernel = node.integers("kernel_shape");
  if (inputs.empty() || !kernel) fail("{}: found no input or no kernel_shape", node.where());
  const Node whole = with_full_window(node, inputs[0].dims(), *kernel);
  if (inputs[0].dims().size() != 3) return translator.set_all(node, translator.by_record(whole, inputs));
  std::vector<Operand> results = translator.by_record(as_plane(whole), as_planes(translator, node, inputs));
  for (Operand& result : results) {
    if (result.there()) result = as_line(translator, node, result);
  }
  translator.set_all(node, results);
}

}  // namespace halfstep::formats::onnx
