// Operators that read or write elements by index, and others that rearrange.
#include <algorithm>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

const std::vector<std::string> kReductions = {"none", "add", "mul", "max", "min"};

Known full(Maker& maker, int64_t least_rank, int64_t most_rank) {
  return maker.any({{DType::f32, DType::f32, DType::i64}, least_rank, most_rank, is_full});
}

Known indices(Maker& maker, const Dims& dims, int64_t extent) {
  const int64_t lowest = maker.chance(0.3) && maker.opset() >= 11 ? -extent : 0;
  return maker.weights(DType::i64, dims, static_cast<double>(lowest), static_cast<double>(extent - 1));
}

void make_elements(Maker& maker, std::string_view op) {
  const Known x = full(maker, 1, 4);
  const int64_t axis = maker.between(0, x.rank() - 1);
  maker.require(!maker.keeps_rows(x));
  Dims dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = maker.between(1, dims[i]);
  const Known at = indices(maker, dims, x.dims[static_cast<size_t>(axis)]);
  Attributes attributes = {{"axis", op == "Scatter" ? axis : maker.perhaps_negative(axis, x.rank())}};
  if (op == "GatherElements") {
    maker.node(op, {x, at}, x.with(dims), attributes);
    return;
  }
  const Known updates = maker.weights(x.dtype, dims, -2, 2);
  if (maker.opset() >= 18 && maker.chance(0.5)) attributes["reduction"] = maker.one_of(kReductions);
  maker.node(op, {x, at, updates}, x.between(x.low * 2 - 2, x.high * 2 + 2), attributes);
}

void make_nd(Maker& maker, std::string_view op) {
  const Known x = full(maker, 1, 4);
  maker.require(!maker.keeps_rows(x));
  const int64_t depth = maker.between(1, x.rank()), count = maker.between(1, 4);
  const int64_t least = *std::min_element(x.dims.begin(), x.dims.begin() + depth);
  const Known at = indices(maker, {count, depth}, least);
  Dims rest(x.dims.begin() + depth, x.dims.end());
  rest.insert(rest.begin(), count);
  if (op == "GatherND") {
    maker.node(op, {x, at}, x.with(rest));
    return;
  }
  Attributes attributes;
  if (maker.opset() >= 18 && maker.chance(0.5)) attributes["reduction"] = maker.one_of(kReductions);
  maker.node(op, {x, at, maker.weights(x.dtype, rest, -2, 2)}, x.between(x.low * 2 - 2, x.high * 2 + 2), attributes);
}

void make_one_hot(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::i64, DType::f32}, 1, 3});
  const int64_t depth = maker.between(1, 5), axis = x.rows ? x.rank() : maker.between(0, x.rank());
  Dims dims = x.dims;
  dims.insert(dims.begin() + axis, depth);
  const Known many = maker.scalar(static_cast<double>(depth), DType::i64, {});
  maker.node(op, {x, many, maker.weights(DType::f32, {2}, -1, 1)}, x.with(dims).with(DType::f32).between(-1, 1),
             {{"axis", axis == x.rank() ? int64_t{-1} : axis}});
}

void make_trilu(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i64}, maker.style().rows ? 3 : 2, 4});
  std::vector<Known> inputs = {x};
  if (maker.chance(0.5)) inputs.push_back(maker.scalar(static_cast<double>(maker.between(-3, 3)), DType::i64, {}));
  Attributes attributes;
  if (maker.chance(0.6)) attributes["upper"] = int64_t{maker.chance(0.5)};
  maker.node(op, inputs, x.between(std::min(x.low, 0.0), std::max(x.high, 0.0)), attributes);
}

void make_eye(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i64}, 2, 2});
  maker.require(!maker.keeps_rows(x));
  Attributes attributes;
  if (maker.chance(0.5)) attributes["k"] = maker.between(-2, 2);
  const DType to = maker.chance(0.4) ? DType::f32 : x.dtype;
  if (to != x.dtype || maker.chance(0.3)) attributes["dtype"] = formats::onnx::onnx_type_of(to);
  maker.node(op, {x}, x.with(to).between(0, 1), attributes);
}

void make_reverse(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i64}, 2, 4, is_full});
  const int64_t batch = x.rows ? 0 : maker.between(0, 1);
  maker.require(!maker.keeps_rows(x) || !maker.style().dynamic_batch);
  const Known lengths = maker.weights(DType::i64, {x.dims[static_cast<size_t>(batch)]}, 1,
                                      static_cast<double>(x.dims[static_cast<size_t>(1 - batch)]));
  maker.require(!maker.keeps_rows(x));
  maker.node(op, {x, lengths}, x, {{"batch_axis", batch}, {"time_axis", 1 - batch}});
}

void make_crop_pad(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, maker.style().rows ? 2 : 1, 4});
  Dims axes, shape, dims = x.dims;
  for (int64_t axis = maker.keeps_rows(x) ? 1 : 0; axis < x.rank(); ++axis) {
    if (!axes.empty() && maker.chance(0.4)) continue;
    axes.push_back(axis);
    shape.push_back(maker.between(1, 6));
    dims[static_cast<size_t>(axis)] = shape.back();
  }
  maker.require(!axes.empty());
  maker.node(op, {x, maker.ints(shape)}, x.with(dims).between(std::min(x.low, 0.0), std::max(x.high, 0.0)),
             {{"axes", axes}});
}

void make_compress(Maker& maker, std::string_view op) {
  const Known x = full(maker, maker.style().rows ? 2 : 1, 4);
  const int64_t axis = maker.axis(x), extent = x.dims[static_cast<size_t>(axis)];
  Tensor keep(DType::boolean, {extent});
  int64_t kept = 0;
  for (bool& k : keep.data<bool>()) kept += (k = maker.chance(0.6)) ? 1 : 0;
  Dims dims = x.dims;
  dims[static_cast<size_t>(axis)] = kept;
  maker.node(op, {x, maker.contents(keep, 0, 1)}, x.with(dims),
             {{"axis", maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis}});
}

}  // namespace

Recipes index_recipes() {
  return {{"GatherElements", make_elements, Home::floats, 11},
          {"ScatterElements", make_elements, Home::floats, 11},
          {"Scatter", make_elements, Home::floats, 9, 10},
          {"GatherND", make_nd, Home::floats, 11},
          {"ScatterND", make_nd, Home::floats, 11},
          {"OneHot", make_one_hot, Home::floats, 9},
          {"Trilu", make_trilu, Home::floats, 14},
          {"EyeLike", make_eye, Home::floats, 9},
          {"ReverseSequence", make_reverse, Home::floats, 10},
          {"CenterCropPad", make_crop_pad, Home::floats, 18},
          {"Compress", make_compress, Home::floats, 9}};
}

}  // namespace halfstep::fuzz
