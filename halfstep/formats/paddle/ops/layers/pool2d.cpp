// The largest element or the mean of each window, of all elements, or of the equal parts of an adaptive pool.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {
namespace {

/// Returns the window of an adaptive pool with `parts` results along each axis. All windows must be equal.
WindowSpec adaptive(const Node& node, const Dims& dims, const std::vector<int64_t>& parts) {
  WindowSpec spec;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = dims[i + 2];
    if (extent == kUnknown) fail(errors::depends_on_extents("an adaptive pool"));
    if (parts[i] < 1 || extent % parts[i] != 0)
      fail(errors::form_not_supported(node.where(), fmt::format("{} adaptive parts of {} elements", parts[i], extent),
                                      "parts of the same size", ""));
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
  if (type != "max" && type != "avg") fail(errors::wrong_attribute_word(node.where(), "pooling_type", quote(type)));
  const bool is_max = type == "max", ceil_mode = node.flag("ceil_mode", false);
  const bool counts = !node.flag("exclusive", true), is_adaptive = node.flag("adaptive", false);
  const bool all = node.flag("global_pooling", false);
  std::vector<int64_t> kernel = translator.integers(node, node.numbers_slots() ? "kernel_size" : "ksize", 1);
  if (dims.size() != 4 || kernel.size() != 2)
    fail(errors::wrong_extents(node.where(), fmt::format("a window {} over {}", to_string(kernel), to_string(dims)),
                               "2 extents of the window and 4 of the input"));
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
