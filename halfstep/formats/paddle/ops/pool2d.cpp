// The largest element or the mean of each window, of all elements, or of as many equal parts as adaptive says.
#include <algorithm>

#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {
namespace {

/// The window of an adaptive pool with `parts` results along each axis, where all are equal.
WindowSpec adaptive(const Node& node, const Dims& dims, const std::vector<int64_t>& parts) {
  WindowSpec spec;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = dims[i + 2];
    if (extent == kUnknown) throw NeedsExtents(node.where() + ": adaptive parts of open extents");
    if (parts[i] < 1 || extent % parts[i] != 0)
      Translator::refuse(node, fmt::format("{} adaptive parts of {} elements are not supported", parts[i], extent));
    spec.kernel.push_back(extent / parts[i]);
  }
  spec.strides = spec.kernel;
  return spec;
}

}  // namespace

void translate_pool2d(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const Dims dims = x.dims();
  const std::string type = node.text("pooling_type", "max");
  if (type != "max" && type != "avg") fail("{}: found pooling_type {}", node.where(), quote(type));
  const bool is_max = type == "max", ceil_mode = node.flag("ceil_mode", false);
  const bool counts = !node.flag("exclusive", true), is_adaptive = node.flag("adaptive", false);
  const bool all = node.flag("global_pooling", false);
  std::vector<int64_t> kernel = translator.integers(node, node.numbers_slots() ? "kernel_size" : "ksize", 1);
  if (dims.size() != 4 || kernel.size() != 2)
    fail("{}: found a window {} over {}", node.where(), to_string(kernel), to_string(dims));
  if (is_adaptive || all) node.integers("strides"), node.integers("paddings"), node.text("padding_algorithm", "");
  if ((is_adaptive && kernel == std::vector<int64_t>{1, 1}) || all) {
    if (!is_max) return translator.set(node, {"Out", 0}, translator.make_one(node, "global_avg_pool", {x}));
    kernel = {1, 1};
  }
  const WindowSpec spec = is_adaptive || all ? adaptive(node, dims, kernel) : window_spec(node, kernel, ceil_mode);
  Pool pool{
      is_max ? "max_pool2d" : "avg_pool2d", is_max ? "max_pool" : "average_pool", {}, {}, counts && !is_max, ceil_mode};
  if (!is_max) pool.attributes = {{"count_include_pad", counts}};
  translator.set(node, {"Out", 0}, pooled(translator, node, x, window_of(node, dims, spec), pool).at(0));
}

}  // namespace halfstep::formats::paddle
