#include "halfstep/passes/canonical/pool_forms.h"

#include <algorithm>
#include <array>
#include <optional>

#include "halfstep/core/base/padding.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"

namespace halfstep::passes {
namespace {

constexpr size_t kAxes = 2;

/// Padding of one axis. `overhang` counts elements of the last window behind x and the given padding.
struct EdgePadding : AxisPadding {
  int64_t overhang = 0;
};

/// Complete description of a pool over two axes.
struct Window {
  std::vector<int64_t> kernel, stride;
  std::array<EdgePadding, kAxes> padding;

  bool is_padded() const {
    return std::ranges::any_of(padding, [](const EdgePadding& p) { return p.before + p.after > 0; });
  }
  bool hangs_over() const {
    return std::ranges::any_of(padding, [](const EdgePadding& p) { return p.overhang > 0; });
  }
  /// Returns top, left, bottom, right, including the overhang.
  std::vector<int64_t> pad() const {
    return {padding[0].before, padding[1].before, padding[0].after + padding[0].overhang,
            padding[1].after + padding[1].overhang};
  }
};

/// `Pool` is ops::MaxPool or ops::AveragePool. Returns nothing for windows over unknown extents or with dilation.
template <class Pool>
std::optional<Window> window_of(const Pool& pool) {
  const Dims &x = pool.x().dims(), &out = pool.out().dims();
  const auto full = [](const std::vector<int64_t>& list, size_t size, int64_t otherwise) {
    return list.empty() ? std::vector<int64_t>(size, otherwise) : list;
  };
  if (pool.kernel().size() != kAxes || x[2] == kUnknown || x[3] == kUnknown) return std::nullopt;
  if (full(pool.dilation(), kAxes, 1) != std::vector<int64_t>(kAxes, 1)) return std::nullopt;
  Window window{pool.kernel(), full(pool.stride(), kAxes, 1), {}};
  const std::vector<int64_t> pad = full(pool.pad(), 2 * kAxes, 0);
  const bool is_same = pool.auto_pad().starts_with("same");
  for (size_t i = 0; i < kAxes; ++i) {
    const int64_t extent = x[i + 2], windows = out[i + 2], kernel = window.kernel[i], stride = window.stride[i];
    if (is_same) {
      window.padding[i] = {same_padding(extent, windows, stride, kernel, pool.auto_pad() == "same_upper")};
      continue;
    }
    const int64_t before = pool.auto_pad() == "valid" ? 0 : pad[i], after = pool.auto_pad() == "valid" ? 0 : pad[i + 2];
    const int64_t reach = (windows - 1) * stride + kernel;
    window.padding[i] = {{before, after}, std::max<int64_t>(reach - extent - before - after, 0)};
  }
  return window;
}

/// Rule c3 in the records of the picture pools.
bool is_legal(const Window& window) {
  const auto pad = window.pad();
  const int64_t most = *std::ranges::max_element(pad);
  return most == 0 || most < *std::ranges::min_element(window.kernel);
}

void become(Graph& graph, Op old, const OpInfo& info, Attributes attributes) {
  replace(graph, old, insert_before(graph, old, info, {old.in(0)}, std::move(attributes)));
}

Attributes attributes_of(const Window& window) {
  return {{"kernel", window.kernel}, {"stride", window.stride}, {"pad", window.pad()}};
}

void rewrite_max(Graph& graph, const ops::MaxPool& pool) {
  const auto window = pool.with_indices() ? std::nullopt : window_of(pool);
  if (window && is_legal(*window)) become(graph, pool, ops::MaxPool2d::record(), attributes_of(*window));
}

void rewrite_average(Graph& graph, const ops::AveragePool& pool) {
  const auto window = window_of(pool);
  if (!window || !is_legal(*window)) return;
  const bool counts = pool.count_include_pad();
  if (counts && window->hangs_over() && window->is_padded()) return;
  Attributes attributes = attributes_of(*window);
  attributes["count_include_pad"] = counts && !window->hangs_over();
  become(graph, pool, ops::AvgPool2d::record(), std::move(attributes));
}

}  // namespace

void pool_forms(Model& model) {
  for (const Op op : model.graph.ops()) {
    if (op.is<ops::MaxPool>()) rewrite_max(model.graph, ops::MaxPool(op.node()));
    if (op.is<ops::AveragePool>()) rewrite_average(model.graph, ops::AveragePool(op.node()));
  }
}

void open_averages(Model& model) {
  for (const auto& pool : model.graph.all<ops::GlobalAvgPool>()) {
    const Dims& dims = pool.x().dims();
    if (dims[2] != kUnknown && dims[3] != kUnknown) continue;
    const Attributes over_images{{"axes", std::vector<int64_t>{2, 3}}, {"keep_dims", true}};
    replace(model.graph, pool, insert_before(model.graph, pool, ops::ReduceMean::record(), {pool.x()}, over_images));
  }
}

}  // namespace halfstep::passes
