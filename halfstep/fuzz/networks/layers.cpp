// Convolutions and matrix products.
#include <algorithm>
#include <cmath>

#include "halfstep/fuzz/networks/node_recipes.h"
#include "halfstep/fuzz/networks/spatial_windows.h"

namespace halfstep::fuzz {
namespace {

double magnitude_of(const Known& x) { return std::max(std::abs(x.low), std::abs(x.high)); }

/// Weights with the magnitudes of trained ones: a sum of `terms` products is about as large as its inputs.
Known some_weights(Maker& maker, const Dims& dims, int64_t terms) {
  const double scale = maker.chance(0.05) ? 0 : 1.7 / std::sqrt(static_cast<double>(std::max<int64_t>(terms, 1)));
  return maker.parameter(dims, -scale, scale);
}

/// Often adds an activation or normalization, which fuses with the layer.
void perhaps_activate(Maker& maker, const Known& x) {
  if (!maker.chance(0.4)) return;
  const auto op = maker.one_of<std::string>({"Relu", "Relu", "LeakyRelu", "Clip", "BatchNormalization", "Sigmoid"});
  if (op == "BatchNormalization") {
    if (x.rank() < 2 || (maker.style().simple && x.rank() != 4)) return;
    const Dims channels = {x.dims[1]};
    const Known scale = maker.weights(DType::f32, channels, 0.5, 1.5),
                bias = maker.weights(DType::f32, channels, -1, 1);
    const Known mean = maker.weights(DType::f32, channels, -0.5, 0.5);
    maker.node(op, {x, scale, bias, mean, maker.weights(DType::f32, channels, 0.5, 2)},
               x.between(2 * x.low - 2, 2 * x.high + 2));
    if (maker.style().simple) maker.forget(x);
  } else if (op == "Clip" && maker.opset() >= 11) {
    const Known low = maker.scalar(0, DType::f32, {}), high = maker.scalar(6, DType::f32, {});
    maker.node(op, {x, low, high}, x.between(0, std::max(x.high, 0.0)));
  } else if (op != "Clip") {
    Attributes attributes;
    if (op == "LeakyRelu" && maker.chance(0.5)) attributes["alpha"] = maker.real(-1, 0.7);
    maker.node(op, {x}, x.between(op == "Relu" ? 0 : x.low, std::max(x.high, 0.0)), attributes);
    if (!attributes.empty()) maker.forget(x);  // the slope becomes part of the layer
  }
}

/// Images with elements: no spatial extent is 0.
Want images(int64_t least_spatial, int64_t most_spatial) {
  return {{DType::f32}, least_spatial + 2, most_spatial + 2, [](const Known& x) {
            return std::ranges::none_of(x.dims, [](int64_t d) { return d == 0; });
          }};
}

int64_t some_groups(Maker& maker, int64_t channels) {
  if (maker.chance(0.6)) return 1;
  if (maker.chance(0.5)) return channels;
  return channels % 2 == 0 ? 2 : 1;
}

void make_conv(Maker& maker, std::string_view op) {
  const Known x = maker.any(maker.style().plain ? images(2, 2) : images(1, 3));
  const Window window = some_window(maker, {x.dims.begin() + 2, x.dims.end()}, {});
  const int64_t groups = some_groups(maker, x.dims[1]), outputs = groups * maker.between(1, groups == 1 ? 6 : 2);
  Dims dims = {outputs, x.dims[1] / groups};
  dims.insert(dims.end(), window.kernel.begin(), window.kernel.end());
  const int64_t terms = count_elements(dims) / outputs;
  const Known w = some_weights(maker, dims, terms);
  std::vector<Known> inputs = {x, w};
  if (maker.chance(0.6)) inputs.push_back(maker.parameter({outputs}, -0.5, 0.5));
  Attributes attributes = window.attributes(maker, maker.chance(0.5));
  if (groups != 1) attributes["group"] = groups;
  Dims out = {x.dims[0], outputs};
  out.insert(out.end(), window.out.begin(), window.out.end());
  const double bound = magnitude_of(x) * 2 + 0.5;
  perhaps_activate(maker, maker.node(op, inputs, x.with(out).between(-bound, bound), attributes));
}

void make_conv_transpose(Maker& maker, std::string_view op) {
  const Known x = maker.any(images(1, 2));
  const size_t rank = x.dims.size() - 2;
  const int64_t groups = some_groups(maker, x.dims[1]), each = maker.between(1, 3);
  Dims kernel, stride, pads(2 * rank), extra, out = {x.dims[0], groups * each};
  const bool pad = maker.chance(0.4), more = maker.chance(0.3);
  for (size_t axis = 0; axis < rank; ++axis) {
    kernel.push_back(maker.between(1, 3));
    stride.push_back(maker.between(1, 2));
    extra.push_back(more ? stride[axis] - 1 : 0);
    pads[axis] = pad ? maker.between(0, kernel[axis] - 1) : 0;
    pads[rank + axis] = pad ? maker.between(0, kernel[axis] - 1) : 0;
    out.push_back((x.dims[axis + 2] - 1) * stride[axis] + kernel[axis] + extra[axis] - pads[axis] - pads[rank + axis]);
    maker.require(out.back() >= 1);
  }
  Dims dims = {x.dims[1], each};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  std::vector<Known> inputs = {x, some_weights(maker, dims, count_elements(dims) / each)};
  if (maker.chance(0.5)) inputs.push_back(maker.parameter({groups * each}, -0.5, 0.5));
  Attributes attributes = {{"strides", stride}};
  if (maker.chance(0.5)) attributes["kernel_shape"] = kernel;
  if (pad) attributes["pads"] = pads;
  if (more) attributes["output_padding"] = extra;
  if (groups != 1) attributes["group"] = groups;
  maker.node(op, inputs, x.with(out).between(-2 * magnitude_of(x), 2 * magnitude_of(x)), attributes);
}

/// A bias of any extents that broadcast to a result of `dims`.
Known odd_bias(Maker& maker, const Dims& dims, int64_t least_rank) {
  const auto rank = static_cast<int64_t>(dims.size());
  Dims bias(dims.end() - maker.between(std::min(least_rank, rank), rank), dims.end());
  for (int64_t& d : bias) {
    if (maker.chance(0.3)) d = 1;
  }
  if (bias.size() == dims.size() && !bias.empty()) bias[0] = 1;
  return maker.parameter(bias, -0.5, 0.5);
}

void make_gemm(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 2, [](const Known& v) { return v.dims[1] > 0; }});
  const bool simple = maker.style().simple, turn_a = !simple && !maker.keeps_rows(x) && maker.chance(0.3),
             turn_b = maker.chance(0.5);
  const int64_t rows = x.dims[turn_a ? 1 : 0], terms = x.dims[turn_a ? 0 : 1], columns = maker.between(1, 8);
  maker.require(terms > 0);
  const Known w = some_weights(maker, turn_b ? Dims{columns, terms} : Dims{terms, columns}, terms);
  std::vector<Known> inputs = {x, w};
  Attributes attributes;
  if (maker.chance(0.6) || maker.opset() < 11)
    inputs.push_back(simple || maker.chance(0.6) ? maker.parameter({columns}, -0.5, 0.5)
                                                 : odd_bias(maker, {rows, columns}, 0));
  if (turn_a) attributes["transA"] = int64_t{1};
  if (turn_b) attributes["transB"] = int64_t{1};
  if (!simple && maker.chance(0.15)) attributes["alpha"] = maker.real(0.3, 2);
  if (!simple && maker.chance(0.15)) attributes["beta"] = maker.real(0.3, 2);
  const double bound = 3 * magnitude_of(x) + 1;
  perhaps_activate(maker, maker.node(op, inputs, x.with({rows, columns}).between(-bound, bound), attributes));
}

/// x[..., terms] times a matrix, often followed by the sum with a bias of usual or unusual rank.
void make_matmul_layer(Maker& maker, const Known& x) {
  const int64_t terms = x.dims.back(), columns = maker.between(1, 8);
  const Known w = some_weights(maker, {terms, columns}, terms);
  Dims out = x.dims;
  out.back() = columns;
  const double bound = 2 * magnitude_of(x);
  Known y = maker.node("MatMul", {x, w}, x.with(out).between(-bound, bound));
  const bool widens = !maker.keeps_rows(x) && maker.chance(0.7);  // the sum has more axes than the product
  if (widens || (maker.chance(0.5) && (x.rank() == 2 || !maker.style().simple))) {
    Known bias =
        maker.style().simple || maker.chance(0.6) ? maker.parameter({columns}, -0.5, 0.5) : odd_bias(maker, out, 0);
    if (widens) {
      Dims dims(x.dims.size(), 1);
      if (maker.chance(0.2)) dims[0] = 2;
      dims.push_back(columns);
      bias = maker.weights(DType::f32, dims, -0.5, 0.5);
    }
    y = maker.node("Add", {y, bias}, y.with(broadcast(out, bias.dims)));
  }
  perhaps_activate(maker, y);
}

void make_matmul(Maker& maker, std::string_view op) {
  const Want matrices{{DType::f32}, 2, 4, [](const Known& v) { return v.dims.back() > 0; }};
  const Known x = maker.any(matrices);
  if (maker.style().plain || maker.chance(0.5)) return make_matmul_layer(maker, x);
  if (!maker.keeps_rows(x) && maker.chance(0.3)) {  // one operand of rank 1
    const Known v = maker.weights(DType::f32, {x.dims.back()}, -1, 1);
    maker.node(op, {x, v}, x.with(Dims(x.dims.begin(), x.dims.end() - 1)));
    return;
  }
  const auto inner = x.dims.back();
  const Known y = maker.chance(0.5) ? maker.weights(DType::f32, {inner, maker.between(1, 5)}, -1, 1)
                                    : maker.any({{DType::f32}, x.rank(), x.rank(), [&](const Known& v) {
                                                   return v.rows == x.rows && v.dims[v.dims.size() - 2] == inner &&
                                                          std::equal(v.dims.begin(), v.dims.end() - 2, x.dims.begin());
                                                 }});
  Dims out = x.dims;
  out.back() = y.dims.back();
  maker.require(x.rank() > 2 || !x.rows || y.constant);
  const double bound = magnitude_of(x) * magnitude_of(y) * static_cast<double>(inner);
  maker.node(op, {x, y}, x.with(out).between(-bound, bound));
}

void make_einsum(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 3});
  const int64_t n = maker.between(1, 4);
  const Known w = maker.weights(DType::f32, {x.dims.back(), n}, -1, 1);
  Dims out = x.dims;
  out.back() = n;
  const double bound = magnitude_of(x) * static_cast<double>(x.dims.back());
  const Known result = x.with(out).between(-bound, bound);
  if (maker.chance(0.5)) {
    maker.node(op, {x, w}, result, {{"equation", std::string(x.rank() == 2 ? "ij,jk->ik" : "bij,jk->bik")}});
  } else {
    maker.node(op, {x, w}, result, {{"equation", std::string("...j,jk->...k")}});
  }
}

}  // namespace

Recipes layer_recipes() {
  return {{"Conv", make_conv, Home::codes},
          {"Gemm", make_gemm, Home::codes},
          {"MatMul", make_matmul, Home::codes},
          {"ConvTranspose", make_conv_transpose},
          {"Einsum", make_einsum, Home::floats, 12}};
}

}  // namespace halfstep::fuzz
