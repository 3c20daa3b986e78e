// Per-channel arithmetic in all notations, after layers, which absorb it, and alone.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

Known rescaled(const Known& x, double low, double high) {
  return x.between(std::min({low * x.low, high * x.low, low * x.high, high * x.high}),
                   std::max({low * x.low, high * x.low, low * x.high, high * x.high}));
}

/// Extents of one number per channel of x on `axis`, which broadcast with x: [1, c, 1, 1], [c, 1, 1], or [1].
Dims channel_dims(Maker& maker, const Known& x, int64_t axis) {
  const int64_t channels = x.dims[static_cast<size_t>(axis)];
  if (maker.chance(0.15)) return maker.chance(0.5) ? Dims{} : Dims{1};
  const int64_t behind = x.rank() - axis - 1;
  Dims dims(static_cast<size_t>(behind) + 1, 1);
  dims[0] = channels;
  for (int64_t in_front = maker.between(0, axis); in_front > 0; --in_front) dims.insert(dims.begin(), 1);
  return dims;
}

Known in_some_order(Maker& maker, std::string_view op, const Known& x, const Known& numbers, const Known& result) {
  return maker.chance(0.6) ? maker.node(op, {x, numbers}, result) : maker.node(op, {numbers, x}, result);
}

/// x combined with one number per channel.
Known affine(Maker& maker, std::string_view op, const Known& x, int64_t axis) {
  const Dims dims = channel_dims(maker, x, axis);
  const double sign = maker.chance(0.1) ? -1 : 1;
  if (op == "Add" || op == "Sub") {
    const Known result = x.between(-x.high - 1 + std::min(x.low, 0.0), x.high + 1 - std::min(x.low, 0.0));
    const Known numbers = maker.weights(DType::f32, dims, -1, 1);
    if (op == "Add") return in_some_order(maker, op, x, numbers, x.between(x.low - 1, x.high + 1));
    return maker.chance(0.8) ? maker.node(op, {x, numbers}, x.between(x.low - 1, x.high + 1))
                             : maker.node(op, {numbers, x}, result);
  }
  const double low = 0.5, high = 1.5;
  if (op == "Mul") {
    const Known numbers = maker.weights(DType::f32, dims, sign > 0 ? low : -high, sign > 0 ? high : -low);
    return in_some_order(maker, op, x, numbers, rescaled(x, sign * low, sign * high));
  }
  return maker.node(op, {x, maker.weights(DType::f32, dims, low, high)}, rescaled(x, 1 / high, 1 / low));
}

Known norm_of_channels(Maker& maker, const Known& x) {
  const Dims channels = {x.dims[1]};
  const auto numbers = [&](double low, double high) { return maker.weights(DType::f32, channels, low, high); };
  const Known scale = numbers(0.5, 1.5), bias = numbers(-1, 1), mean = numbers(-0.5, 0.5);
  return maker.node("BatchNormalization", {x, scale, bias, mean, numbers(0.5, 2)},
                    x.between(2.2 * x.low - 2, 2.2 * x.high + 2));
}

/// A normalization of the channels on the last axis. The operator needs them on the second axis, so x is transposed, or
/// all other axes are merged.
Known norm_of_last(Maker& maker, const Known& x) {
  Known turned = x;
  const Dims perm = {0, 2, 1};
  if (maker.chance(0.6)) {
    turned = maker.node("Transpose", {x}, x.with(Dims{x.dims[0], x.dims[2], x.dims[1]}), {{"perm", perm}});
    maker.forget(turned);
    const Known normal = norm_of_channels(maker, turned);
    maker.forget(normal);
    maker.expect_codes(normal);
    return maker.node("Transpose", {normal}, normal.with(x.dims), {{"perm", perm}});
  }
  turned = maker.node("Reshape", {x, maker.ints({-1, x.dims[2]})}, x.with(Dims{x.dims[0] * x.dims[1], x.dims[2]}));
  turned.rows = x.rows;
  maker.forget(turned);
  Known normal = norm_of_channels(maker, turned);
  maker.forget(normal);
  maker.expect_codes(normal);
  normal.rows = x.rows;
  return maker.node("Reshape", {normal, maker.ints({-1, x.dims[1], x.dims[2]})}, normal.with(x.dims));
}

/// x times weights, with `features` elements on its last axis.
Known product_of_rows(Maker& maker, const Known& x, int64_t features) {
  const double s = 1.7 / std::sqrt(static_cast<double>(std::max<int64_t>(x.dims.back(), 1)));
  const double bound = 2 * std::max(std::abs(x.low), std::abs(x.high)) + 0.5;
  Dims dims = x.dims;
  dims.back() = features;
  const Known w = maker.weights(DType::f32, {x.dims.back(), features}, -s, s);
  return maker.node("MatMul", {x, w}, x.with(dims).between(-bound, bound));
}

/// A layer with or without bias, and the axis of its channels.
std::pair<Known, int64_t> some_layer(Maker& maker) {
  const auto biased = [&](const Known& x, const Known& w, int64_t channels) {
    std::vector<Known> inputs = {x, w};
    if (maker.chance(0.4)) inputs.push_back(maker.weights(DType::f32, {channels}, -0.5, 0.5));
    return inputs;
  };
  const auto scale = [](int64_t terms) { return 1.7 / std::sqrt(static_cast<double>(std::max<int64_t>(terms, 1))); };
  const int64_t channels = maker.between(2, 6);
  if (maker.chance(0.6)) {
    const Known x = maker.any({{DType::f32}, 4, 4, is_full});
    const double s = scale(x.dims[1]);
    const Known w = maker.weights(DType::f32, {channels, x.dims[1], 1, 1}, -s, s);
    const double bound = 2 * std::max(std::abs(x.low), std::abs(x.high)) + 0.5;
    Dims dims = x.dims;
    dims[1] = channels;
    return {maker.node("Conv", biased(x, w, channels), x.with(dims).between(-bound, bound)), 1};
  }
  const Known x = maker.any({{DType::f32}, 2, 3, [](const Known& v) { return v.size() > 0 && v.dims.back() > 1; }});
  return {product_of_rows(maker, x, channels), x.rank() - 1};
}

/// One weight in two layers with a ReLU between them. Biases, if any, are separate.
std::pair<Known, int64_t> shared_layers(Maker& maker) {
  const bool is_conv = maker.chance(0.5);
  const Known x = is_conv ? maker.any({{DType::f32}, 4, 4, is_full}) : maker.any({{DType::f32}, 2, 3, is_full});
  const int64_t axis = is_conv ? 1 : x.rank() - 1, channels = x.dims[static_cast<size_t>(axis)];
  maker.require(channels > 1);
  const double s = 1.7 / std::sqrt(static_cast<double>(channels));
  const Known w = maker.weights(DType::f32, is_conv ? Dims{channels, channels, 1, 1} : Dims{channels, channels}, -s, s);
  const double bound = 2 * std::max(std::abs(x.low), std::abs(x.high)) + 0.5;
  const auto layer = [&](const Known& from) {
    std::vector<Known> inputs = {from, w};
    if (is_conv && maker.chance(0.4)) inputs.push_back(maker.weights(DType::f32, {channels}, -0.5, 0.5));
    return maker.node(is_conv ? "Conv" : "MatMul", inputs, x.between(-bound, bound));
  };
  const Known first = layer(x);
  maker.forget(first);
  return {layer(maker.node("Relu", {first}, first.between(0, bound))), axis};
}

Known any_step(Maker& maker, std::string_view op, const Known& x, int64_t axis) {
  if (op != "BatchNormalization") return affine(maker, op, x, axis);
  if (axis == 1) return norm_of_channels(maker, x);
  return x.rank() == 3 ? norm_of_last(maker, x) : affine(maker, "Mul", x, axis);
}

/// Moves the channels to another axis, or merges all axes after them.
std::pair<Known, int64_t> moved(Maker& maker, const Known& x, int64_t axis) {
  const Dims& d = x.dims;
  const auto turned = [&](const Dims& perm, int64_t to) {
    Dims dims;
    for (const int64_t from : perm) dims.push_back(d[static_cast<size_t>(from)]);
    return std::pair(maker.node("Transpose", {x}, x.with(dims), {{"perm", perm}}), to);
  };
  if (x.rank() == 3) return turned({0, 2, 1}, 3 - axis);
  if (x.rank() != 4 || axis != 1) return {x, axis};
  if (maker.chance(0.5)) return turned({0, 2, 3, 1}, 3);
  return {maker.node("Reshape", {x, maker.ints({0, d[1], -1})}, x.with(Dims{d[0], d[1], d[2] * d[3]})), 1};
}

/// A layer followed by one to four steps, one of them `op`.
void write_tail(Maker& maker, std::string_view op) {
  auto [x, axis] = maker.chance(0.1) ? shared_layers(maker) : some_layer(maker);
  maker.expect_codes(x);
  maker.require(op != "BatchNormalization" || x.rank() > 2 || axis == 1);
  const int64_t steps = maker.between(1, 4), place = maker.between(0, steps - 1);
  for (int64_t i = 0; i < steps; ++i) {
    maker.forget(x);
    if (maker.chance(0.15)) {
      std::tie(x, axis) = moved(maker, x, axis);
      maker.forget(x);
    }
    const auto other = maker.one_of<std::string>({"Add", "Mul", "Sub", "Div", "Mul", "Add", "BatchNormalization"});
    x = any_step(maker, i == place ? op : std::string_view(other), x, axis);
    maker.expect_codes(x);
  }
  const double kind = maker.real(0, 1);
  if (kind < 0.6) maker.forget(x);
  if (kind < 0.4) maker.node("Relu", {x}, x.between(0, std::max(x.high, 0.0)));
  if (kind >= 0.4 && kind < 0.6) maker.node("LeakyRelu", {x}, x, {{"alpha", maker.real(-0.5, 0.5)}});
}

/// Such steps after any value, so that no layer before them can absorb them. Often a layer follows, as in networks with
/// leading norms. A mean may be subtracted first, as for images.
void write_affine(Maker& maker, std::string_view op) {
  Known x = maker.any({{DType::f32}, 3, 4, [](const Known& v) { return v.size() > 0 && v.low > -50 && v.high < 50; }});
  maker.require(maker.style().rows && x.rows);
  const int64_t axis = op == "BatchNormalization" || maker.chance(0.8) ? 1 : x.rank() - 1;
  if (maker.chance(0.3)) {
    x = affine(maker, maker.chance(0.7) ? "Sub" : "Add", x, axis);
    maker.expect_codes(x);
    maker.forget(x);
  }
  x = any_step(maker, op == "Mul" && maker.chance(0.4) ? "Div" : op, x, axis);
  maker.expect_codes(x);
  if (maker.chance(0.7)) x = maker.node("Relu", {x}, x.between(0, std::max(x.high, 0.0)));
  if (x.rank() != 4 || maker.chance(0.3)) return;
  const int64_t channels = maker.between(1, 4);
  Dims dims = x.dims;
  dims[1] = channels;
  maker.node("Conv", {x, maker.weights(DType::f32, {channels, x.dims[1], 1, 1}, -0.7, 0.7)},
             x.with(dims).between(-3 * x.high, 3 * x.high));
}

/// Variants of sums and activations: a sum of two, max(x, 0), min(x, 6), clips with any limits or none.
void write_limits(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1, 4, [](const Known& v) { return v.size() > 0 && !v.constant; }});
  if (op == "Sum") {
    const Known y = maker.there({{DType::f32}, x.rank(), x.rank(), [&](const Known& v) {
                                   return v.dims == x.dims && v.rows == x.rows && !v.constant;
                                 }});
    maker.expect_codes(maker.node(op, {x, y}, x.between(x.low + y.low, x.high + y.high)));
  } else if (op == "Max") {
    maker.expect_codes(in_some_order(maker, op, x, maker.scalar(0), x.between(0, std::max(x.high, 0.0))));
  } else if (op == "Min") {
    const Known positive = maker.node("Relu", {x}, x.between(0, std::max(x.high, 0.0)));
    maker.forget(positive);
    maker.expect_codes(in_some_order(maker, op, positive, maker.scalar(6), positive.between(0, 6)));
  } else {
    std::vector<Known> inputs = {x};
    const double low = -maker.real(0.2, 2), high = maker.real(0.2, 2);
    const bool has_low = maker.chance(0.6), has_high = maker.chance(0.6);
    if (has_low || has_high) inputs.push_back(has_low ? maker.scalar(low, DType::f32, {}) : Maker::absent());
    if (has_high) inputs.push_back(maker.scalar(high, DType::f32, {}));
    maker.expect_codes(
        maker.node(op, inputs, x.between(has_low ? std::max(low, x.low) : x.low, has_high ? high : x.high)));
  }
}

/// Linear on rows followed by BatchNorm1d, as torch writes them.
void write_norm_of_rows(Maker& maker, std::string_view) {
  const Known x = maker.any({{DType::f32}, 3, 3, [](const Known& v) { return v.size() > 0 && v.dims.back() > 1; }});
  const int64_t features = maker.between(2, 6);
  const Known product = product_of_rows(maker, x, features);
  maker.forget(product);
  const Known sum = maker.node("Add", {maker.weights(DType::f32, {features}, -0.5, 0.5), product},
                               product.between(product.low - 0.5, product.high + 0.5));
  maker.forget(sum);
  const Known normal = norm_of_last(maker, sum);
  if (maker.chance(0.5)) maker.node("Relu", {normal}, normal.between(0, std::max(normal.high, 0.0)));
}

}  // namespace

Recipes tail_recipes() {
  return {{"Add", write_tail, Home::codes},
          {"Sub", write_tail, Home::shapes},
          {"Mul", write_tail, Home::codes},
          {"Div", write_tail, Home::shapes},
          {"BatchNormalization", write_tail, Home::codes},
          {"BatchNormalization", write_affine, Home::codes},
          {"BatchNormalization", write_norm_of_rows, Home::codes},
          {"BatchNormalization", write_norm_of_rows, Home::codes},
          {"Mul", write_affine, Home::codes},
          {"Sum", write_limits, Home::shapes, 8},
          {"Max", write_limits, Home::shapes, 8},
          {"Min", write_limits, Home::shapes, 8},
          {"Clip", write_limits, Home::codes, 11}};
}

}  // namespace halfstep::fuzz
