// Pools.
#include <algorithm>
#include <cmath>

#include "halfstep/fuzz/networks/node_recipes.h"
#include "halfstep/fuzz/networks/spatial_windows.h"

namespace halfstep::fuzz {
namespace {

Want images(Maker& maker) { return {{DType::f32}, maker.style().plain ? 4 : 3, maker.style().plain ? 4 : 5, is_full}; }

Dims spatial_of(const Known& x) { return {x.dims.begin() + 2, x.dims.end()}; }

Dims pooled(const Known& x, const Dims& out) {
  Dims dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), out.begin(), out.end());
  return dims;
}

void make_average(Maker& maker, std::string_view op) {
  const Known x = maker.any(images(maker));
  const WindowRules rules{.dilates = maker.opset() >= 19 && !maker.style().plain,
                          .ceils = maker.opset() >= 10 && !maker.style().simple,
                          .pads_below_kernel = true,
                          .even = maker.style().simple};
  const Window window = some_window(maker, spatial_of(x), rules);
  Attributes attributes = window.attributes(maker, true);
  if (maker.chance(0.5)) attributes["count_include_pad"] = int64_t{maker.chance(0.7)};
  maker.node(op, {x}, x.with(pooled(x, window.out)), attributes);
}

void make_max(Maker& maker, std::string_view op) {
  const Known x = maker.any(images(maker));
  const WindowRules rules{.dilates = maker.opset() >= 10 && !maker.style().simple,
                          .ceils = maker.opset() >= 10 && !maker.style().simple,
                          .pads_below_kernel = true,
                          .even = maker.style().simple};
  const Window window = some_window(maker, spatial_of(x), rules);
  const Known result = x.with(pooled(x, window.out));
  const Attributes attributes = window.attributes(maker, true);
  if (maker.style().plain || maker.opset() < 8 || maker.keeps_rows(x) || maker.chance(0.7)) {
    maker.node(op, {x}, result, attributes);
    return;
  }
  Attributes with_order = attributes;
  if (maker.chance(0.3)) with_order["storage_order"] = int64_t{0};
  maker.nodes(op, {x}, {result, result.with(DType::i64).between(0, static_cast<double>(x.size() - 1))}, with_order);
}

void make_global(Maker& maker, std::string_view op) {
  const Known x = maker.any(images(maker));
  maker.node(op, {x}, x.with(pooled(x, Dims(x.dims.size() - 2, 1))));
}

void make_lp_pool(Maker& maker, std::string_view op) {
  const Known x = maker.any(images(maker));
  const bool newer = maker.opset() >= 18;
  const Window window =
      some_window(maker, spatial_of(x), {.dilates = newer, .ceils = newer, .pads_below_kernel = true});
  Attributes attributes = window.attributes(maker, true);
  if (maker.chance(0.5)) attributes["p"] = maker.between(1, 3);
  const double bound = std::max(std::abs(x.low), std::abs(x.high)) * static_cast<double>(count_elements(window.kernel));
  maker.node(op, {x}, x.with(pooled(x, window.out)).between(0, bound), attributes);
}

/// Follows the pool that it inverts.
void make_unpool(Maker& maker, std::string_view op) {
  const Known x = maker.any(
      {{DType::f32}, 4, 4, [](const Known& v) { return is_full(v) && v.dims[2] % 2 == 0 && v.dims[3] % 2 == 0; }});
  maker.require(!maker.keeps_rows(x));
  const Dims out = {x.dims[0], x.dims[1], x.dims[2] / 2, x.dims[3] / 2};
  const Attributes window = {{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}};
  const auto pool = maker.nodes("MaxPool", {x}, {x.with(out), x.with(out).with(DType::i64)}, window);
  std::vector<Known> inputs = pool;
  if (maker.chance(0.4)) inputs.push_back(maker.ints(x.dims));
  maker.node(op, inputs, x.between(std::min(x.low, 0.0), std::max(x.high, 0.0)), window);
}

}  // namespace

Recipes window_recipes() {
  return {{"AveragePool", make_average, Home::codes},
          {"MaxPool", make_max, Home::codes},
          {"GlobalAveragePool", make_global, Home::codes},
          {"GlobalMaxPool", make_global},
          {"LpPool", make_lp_pool},
          {"MaxUnpool", make_unpool, Home::floats, 11}};
}

}  // namespace halfstep::fuzz
