// Normalizations and functions that compute probabilities.
#include <algorithm>
#include <cmath>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

Known normalized(const Known& x) { return x.between(-4, 4); }

void maybe_epsilon(Maker& maker, Attributes& attributes) {
  if (maker.chance(0.6)) attributes["epsilon"] = maker.real(1e-3, 0.1);
}

void make_batch_norm(Maker& maker, std::string_view op) {
  const bool simple = maker.style().simple;
  Known x = maker.any({{DType::f32}, simple ? 4 : 2, simple ? 4 : 5, is_full});
  if (simple)  // the operator that it folds into
    x = maker.node("Conv", {x, maker.weights(DType::f32, {x.dims[1], x.dims[1], 1, 1}, -0.5, 0.5)}, x);
  const Dims channels = {x.dims[1]};
  const Known scale = maker.weights(DType::f32, channels, -0.5, 1.5), bias = maker.weights(DType::f32, channels, -1, 1);
  const Known mean = maker.weights(DType::f32, channels, -0.5, 0.5),
              variance = maker.weights(DType::f32, channels, 0.3, 2);
  Attributes attributes;
  maybe_epsilon(maker, attributes);
  if (maker.chance(0.2)) attributes["momentum"] = 0.8;
  maker.node(op, {x, scale, bias, mean, variance}, x.between(3 * x.low - 2, 3 * x.high + 2), attributes);
  if (simple) maker.forget(x);
}

void make_instance_norm(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 3, 5, is_full});
  // For a single element, runtimes disagree: a difference of equal numbers over the root of epsilon.
  maker.require(x.size() > x.dims[0] * x.dims[1]);
  const Dims channels = {x.dims[1]};
  const Known scale = maker.weights(DType::f32, channels, -1, 1), bias = maker.weights(DType::f32, channels, -1, 1);
  Attributes attributes = {{"epsilon", maker.real(1e-3, 0.1)}};
  maker.node(op, {x, scale, bias}, normalized(x), attributes);
}

void make_group_norm(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 3, 5, is_full});
  const int64_t groups = x.dims[1] % 2 == 0 && maker.chance(0.5) ? 2 : maker.one_of<int64_t>({1, x.dims[1]});
  const Dims channels = {maker.opset() >= 21 ? x.dims[1] : groups};
  const Known scale = maker.weights(DType::f32, channels, -1, 1), bias = maker.weights(DType::f32, channels, -1, 1);
  maker.node(op, {x, scale, bias}, normalized(x), {{"num_groups", groups}, {"epsilon", maker.real(1e-3, 0.1)}});
}

void make_layer_norm(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 4, is_full});
  const int64_t axis = maker.between(x.rows ? 1 : 0, x.rank() - 1);
  const Dims rest(x.dims.begin() + axis, x.dims.end());
  Attributes attributes = {{"epsilon", maker.real(1e-3, 0.1)}};
  if (axis != x.rank() - 1 || maker.chance(0.4)) attributes["axis"] = maker.perhaps_negative(axis, x.rank());
  std::vector<Known> inputs = {x, maker.weights(DType::f32, rest, -1, 1)};
  if (op == "LayerNormalization" && maker.chance(0.7)) inputs.push_back(maker.weights(DType::f32, rest, -1, 1));
  maker.node(op, inputs, normalized(x), attributes);
}

void make_lrn(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 4, 4, is_full});
  Attributes attributes = {{"size", maker.one_of<int64_t>({1, 3, 5})}};
  if (maker.chance(0.5)) attributes["alpha"] = maker.real(1e-3, 0.5);
  if (maker.chance(0.5)) attributes["beta"] = maker.real(0.4, 0.9);
  if (maker.chance(0.5)) attributes["bias"] = maker.real(1, 2);
  maker.node(op, {x}, x, attributes);
}

void make_lp_normalization(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 4, is_full});
  Attributes attributes = {{"axis", maker.perhaps_negative(maker.axis(x), x.rank())}};
  if (maker.chance(0.5)) attributes["p"] = maker.between(1, 2);
  maker.node(op, {x}, x.between(-1, 1), attributes);
}

void make_mean_variance(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 4, 4, is_full});
  maker.require(!maker.keeps_rows(x) || maker.chance(0.5));
  Attributes attributes;
  if (maker.keeps_rows(x) || maker.chance(0.5)) attributes["axes"] = Dims{2, 3};
  maker.node(op, {x}, normalized(x), attributes);
}

void make_softmax(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, maker.style().rows ? 2 : 1, 4, is_full});
  Attributes attributes;
  const bool flattens = maker.opset() < 13;
  if (flattens || maker.chance(0.6))
    attributes["axis"] = flattens ? maker.axis(x) : maker.perhaps_negative(maker.axis(x), x.rank());
  const bool logs = op == "LogSoftmax";
  maker.node(op, {x}, x.between(logs ? -20 : 0, logs ? 0 : 1), attributes);
}

void make_dropout(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}});
  if (maker.opset() >= 12 || !maker.chance(0.5)) {
    maker.node(op, {x}, x);
  } else {
    maker.node(op, {x}, x, {{"ratio", 0.4}});
  }
}

}  // namespace

Recipes norm_recipes() {
  return {{"BatchNormalization", make_batch_norm, Home::codes},
          {"InstanceNormalization", make_instance_norm},
          {"GroupNormalization", make_group_norm, Home::floats, 18},
          {"LayerNormalization", make_layer_norm, Home::floats, 17},
          {"RMSNormalization", make_layer_norm, Home::floats, 23},
          {"LRN", make_lrn},
          {"LpNormalization", make_lp_normalization},
          {"MeanVarianceNormalization", make_mean_variance, Home::floats, 9},
          {"Softmax", make_softmax},
          {"LogSoftmax", make_softmax},
          {"Hardmax", make_softmax},
          {"Dropout", make_dropout, Home::codes}};
}

}  // namespace halfstep::fuzz
