// Values known from the file alone: extents and constants.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx_export/export_graph.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

constexpr int32_t kTensor = 4;  // AttributeProto.AttributeType

Known whole(Dims dims) {
  Known value;
  value.dtype = DType::i64;
  value.dims = std::move(dims);
  return value.between(0, 8);
}

/// Makes numbers part of the network: casts them and adds them to another value.
void use(Maker& maker, const Known& number) {
  Known real =
      number.dtype == DType::f32 ? number : maker.node("Cast", {number}, number.with(DType::f32), {{"to", int64_t{1}}});
  const Known x = maker.any({{DType::f32}, 0, 4, [&](const Known& v) {
                               try {
                                 return broadcast(v.dims, real.dims) == v.dims && (!v.rows || v.rank() > real.rank());
                               } catch (const Unsuited&) {
                                 return false;
                               }
                             }});
  maker.node("Add", {x, real}, x.between(x.low + number.low, x.high + number.high));
}

void make_shape(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1, 5});
  maker.require(!maker.keeps_rows(x) || !maker.style().dynamic_batch);
  if (op == "Size") {
    use(maker, maker.node(op, {x}, whole({})));
    return;
  }
  if (maker.opset() >= 15 && maker.chance(0.5)) {
    const int64_t start = maker.between(0, x.rank() - 1), end = maker.between(start, x.rank());
    const Known part =
        maker.node(op, {x}, whole({end - start}), {{"start", maker.perhaps_negative(start, x.rank())}, {"end", end}});
    if (end > start) use(maker, maker.node("ReduceMax", {part}, whole({1})));
  } else {
    use(maker, maker.node("ReduceMax", {maker.node(op, {x}, whole({x.rank()}))}, whole({1})));
  }
}

void make_constant(Maker& maker, std::string_view op) {
  Known value;
  Attributes attributes;
  const int64_t form = maker.opset() >= 12 ? maker.between(0, 3) : 0;
  if (form == 0) {
    value.dims = maker.some_dims(maker.between(0, 2), 20);
    value = maker.weights(DType::f32, value.dims, -1, 1);
    maker.require(maker.has_nodes() && maker.last_node().op_type() == op && maker.last_node().output(0) == value.name);
  } else if (form == 1) {
    value = maker.node(op, {}, value, {{"value_float", maker.real(-1, 1)}});
  } else if (form == 2) {
    value.dims = {2};
    value = maker.node(op, {}, value, {{"value_floats", std::vector<double>{0.5, -0.25}}});
  } else {
    value = maker.node(op, {}, whole({1}), {{"value_ints", Dims{maker.between(0, 3)}}});
  }
  use(maker, value);
}

void make_constant_of_shape(Maker& maker, std::string_view op) {
  const Dims dims = maker.some_dims(maker.between(0, 2), 20);
  Known value;
  value.dims = dims;
  const double number = maker.chance(0.3) ? 0 : maker.real(-1, 1);
  value = maker.node(op, {maker.ints(dims)}, value.between(number, number));
  if (number != 0 || maker.chance(0.3)) {
    Tensor one(DType::f32, {1});
    one.data<float>()[0] = static_cast<float>(number);
    auto& attribute = *maker.last_node().add_attribute();
    attribute.set_name("value");
    attribute.set_type(kTensor);
    formats::onnx::write_tensor("", one, *attribute.mutable_t());
  }
  use(maker, value);
}

void make_range(Maker& maker, std::string_view op) {
  const int64_t start = maker.between(-3, 3), step = maker.chance(0.3) ? -maker.between(1, 2) : maker.between(1, 2),
                count = maker.between(0, 6);
  const DType dtype = maker.chance(0.5) ? DType::i64 : DType::f32;
  Known value = whole({count}).with(dtype);
  const Known from = maker.scalar(static_cast<double>(start), dtype, {});
  const Known to = maker.scalar(static_cast<double>(start + count * step), dtype, {});
  const Known by = maker.scalar(static_cast<double>(step), dtype, {});
  use(maker, maker.node(op, {from, to, by}, value));
}

void make_non_zero(Maker& maker, std::string_view op) {
  const Known x = maker.weights(DType::f32, maker.some_dims(maker.between(1, 2), 12), -1, 1);
  const Known places = maker.node(op, {x}, whole({x.rank(), maker.between(1, 4)}));
  maker.forget(places);
  // The number of elements depends on the contents, but a sum of each row has known extents.
  const Known sums =
      maker.opset() >= 13
          ? maker.node("ReduceSum", {places, maker.ints({1})}, whole({x.rank()}), {{"keepdims", int64_t{0}}})
          : maker.node("ReduceSum", {places}, whole({x.rank()}), {{"keepdims", int64_t{0}}, {"axes", Dims{1}}});
  use(maker, sums);
}

void make_suppression(Maker& maker, std::string_view op) {
  const int64_t count = maker.between(1, 8), classes = maker.between(1, 2);
  const Known boxes = maker.weights(DType::f32, {1, count, 4}, 0, 3),
              scores = maker.weights(DType::f32, {1, classes, count}, 0, 1);
  const Known most = maker.ints({maker.between(1, 4)}), overlap = maker.scalar(0.5, DType::f32, {1}),
              least = maker.scalar(0.1, DType::f32, {1});
  Attributes attributes;
  if (maker.chance(0.4)) attributes["center_point_box"] = int64_t{1};
  const Known chosen = maker.node(op, {boxes, scores, most, overlap, least}, whole({1, 3}), attributes);
  maker.forget(chosen);
  const Known last = maker.opset() >= 13
                         ? maker.node("ReduceSum", {chosen, maker.ints({0})}, whole({3}), {{"keepdims", int64_t{0}}})
                         : maker.node("ReduceSum", {chosen}, whole({3}), {{"keepdims", int64_t{0}}, {"axes", Dims{0}}});
  use(maker, last);
}

void make_there(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}});
  Known there;
  there.dtype = DType::boolean;
  use(maker, maker.node(op, {x}, there.between(0, 1)));
}

}  // namespace

Recipes shape_recipes() {
  return {{"Shape", make_shape},
          {"Size", make_shape},
          {"Constant", make_constant, Home::floats, 9},
          {"ConstantOfShape", make_constant_of_shape, Home::floats, 9},
          {"Range", make_range, Home::floats, 11},
          {"NonZero", make_non_zero, Home::floats, 9},
          {"NonMaxSuppression", make_suppression, Home::floats, 10},
          {"OptionalHasElement", make_there, Home::floats, 18}};
}

}  // namespace halfstep::fuzz
