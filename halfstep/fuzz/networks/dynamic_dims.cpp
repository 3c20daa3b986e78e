// Networks with dynamic dimensions, and the computation of extents and positions as exporters write it.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx_export/export_graph.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

constexpr int32_t kTensorAttribute = 4;  // AttributeProto.AttributeType
constexpr int64_t kToFloat = 1, kToWhole = 7;

/// Nodes that compute extents and positions. No other recipe uses their results. Values computed from them have the
/// rows of the other operands.
class Places {
 public:
  explicit Places(Maker& maker) : maker_(maker) {}

  Known node(std::string_view op, const std::vector<Known>& inputs, const Known& result,
             const Attributes& attributes = {}) {
    Known value = maker_.node(op, inputs, result, attributes);
    maker_.forget(value);
    value.constant = true;
    return value;
  }
  static Known whole(Dims dims) { return {"", DType::i64, std::move(dims), 0, 64}; }
  static Known real(Dims dims) { return {"", DType::f32, std::move(dims), 0, 64}; }
  Known number(int64_t value) { return maker_.scalar(static_cast<double>(value), DType::i64, {}); }

  Known shape(const Known& x) { return node("Shape", {x}, whole({x.rank()})); }
  /// Extent `axis` of x, as one number.
  Known extent(const Known& x, int64_t axis) { return node("Gather", {shape(x), number(axis)}, whole({})); }
  /// Extents [begin, end) of x.
  Known extents(const Known& x, int64_t begin, int64_t end) {
    if (maker_.opset() >= 15 && maker_.chance(0.4))
      return node("Shape", {x}, whole({end - begin}), {{"start", begin}, {"end", end}});
    return node("Slice", {shape(x), maker_.ints({begin}), maker_.ints({end}), maker_.ints({0})}, whole({end - begin}));
  }
  Known join(const std::vector<Known>& parts) {
    int64_t count = 0;
    for (const Known& part : parts) count += part.dims[0];
    return node("Concat", parts, whole({count}), {{"axis", int64_t{0}}});
  }
  Known cast(const Known& x, DType to) {
    return node("Cast", {x}, x.with(to), {{"to", to == DType::f32 ? kToFloat : kToWhole}});
  }
  /// A tensor of the extents `extents`, filled with one number.
  Known filled(const Known& extents, Dims dims, double value, DType dtype = DType::f32) {
    Known result = node("ConstantOfShape", {extents}, real(std::move(dims)).with(dtype).between(value, value));
    Tensor one(dtype, {1});
    if (dtype == DType::f32) one.data<float>()[0] = static_cast<float>(value);
    if (dtype == DType::i64) one.data<int64_t>()[0] = static_cast<int64_t>(value);
    auto& attribute = *maker_.last_node().add_attribute();
    attribute.set_name("value");
    attribute.set_type(kTensorAttribute);
    formats::onnx::write_tensor("", one, *attribute.mutable_t());
    return result;
  }
  /// The numbers from 0 with `count` elements: integers, or floats with any step.
  Known range(const Known& count, int64_t length, DType dtype, double step = 1) {
    if (dtype == DType::i64) return node("Range", {number(0), count, number(1)}, whole({length}));
    const auto float_number = [&](double value) { return maker_.scalar(value, DType::f32, {}); };
    Known limit = cast(count, DType::f32);
    if (step != 1) limit = node("Mul", {limit, float_number(step)}, limit);
    return node("Range", {float_number(0), limit, float_number(step)}, real({length}));
  }

 private:
  Maker& maker_;
};

/// A value of the chain, hidden from other recipes until its extents are static again.
Known in_chain(Maker& maker, std::string_view op, const std::vector<Known>& inputs, const Known& result,
               const Attributes& attributes = {}) {
  Known value = maker.node(op, inputs, result, attributes);
  maker.forget(value);
  return value;
}

Known convolved(Maker& maker, const Known& x, int64_t channels) {
  const double scale = 1.7 / std::sqrt(9.0 * static_cast<double>(x.dims[1]));
  Dims dims = x.dims;
  dims[1] = channels;
  const Known y = in_chain(maker, "Conv", {x, maker.weights(DType::f32, {channels, x.dims[1], 3, 3}, -scale, scale)},
                           x.with(dims).between(2 * std::min(x.low, -x.high), 2 * std::max(x.high, -x.low)),
                           {{"pads", Dims{1, 1, 1, 1}}});
  return maker.chance(0.5) ? in_chain(maker, "Relu", {y}, y.between(0, y.high)) : y;
}

Known joined(Maker& maker, const Known& x, const Known& y) {
  Dims dims = x.dims;
  dims[1] += y.dims[1];
  return in_chain(maker, "Concat", {x, y}, x.with(dims).between(std::min(x.low, y.low), std::max(x.high, y.high)),
                  {{"axis", int64_t{1}}});
}

/// x resized to the extents of another value, as torch exports interpolate(size=y.shape[2:]).
Known resized(Maker& maker, const Known& x, const Known& sizes, Dims dims) {
  Attributes attributes = {{"mode", std::string("nearest")},
                           {"coordinate_transformation_mode", std::string("asymmetric")},
                           {"nearest_mode", std::string("floor")}};
  if (maker.chance(0.5)) {
    attributes = {{"mode", std::string("linear")},
                  {"coordinate_transformation_mode",
                   maker.one_of<std::string>({"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"})}};
  }
  return in_chain(maker, "Resize", {x, Maker::absent(), Maker::absent(), sizes}, x.with(std::move(dims)), attributes);
}

/// Reduces x, restores its size, and joins both.
Known down_and_up(Maker& maker, const Known& x) {
  Places places(maker);
  maker.require(x.dims[2] >= 2 && x.dims[3] >= 2);
  const Known small = in_chain(maker, "MaxPool", {x}, x.with(Dims{x.dims[0], x.dims[1], x.dims[2] / 2, x.dims[3] / 2}),
                               {{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}});
  const Known sizes = places.join({places.extents(small, 0, 2), places.extents(x, 2, 4)});
  const Known large = resized(maker, convolved(maker, small, x.dims[1]), sizes, x.dims);
  return maker.chance(0.5) ? joined(maker, x, large)
                           : in_chain(maker, "Add", {x, large}, x.between(x.low + large.low, x.high + large.high));
}

Known to_fixed_size(Maker& maker, const Known& x) {
  Places places(maker);
  const int64_t height = maker.between(2, 6), width = maker.between(2, 6);
  const Known sizes = places.join({places.extents(x, 0, 2), maker.ints({height, width})});
  return resized(maker, x, sizes, {x.dims[0], x.dims[1], height, width});
}

/// Combines x with numbers for each channel, expanded to its size by Expand, or filled with one number.
Known with_expanded(Maker& maker, const Known& x) {
  Places places(maker);
  if (maker.chance(0.4)) return joined(maker, x, places.filled(places.shape(x), x.dims, maker.real(-0.5, 1)));
  const Known numbers = maker.weights(DType::f32, {1, x.dims[1], 1, 1}, -1, 1);
  const Known large = places.node("Expand", {numbers, places.shape(x)}, numbers.with(x.dims));
  return maker.chance(0.5) ? joined(maker, x, large)
                           : in_chain(maker, "Add", {x, large}, x.between(x.low - 1, x.high + 1));
}

/// Adds a channel with the relative position of each column: 0 to 1.
Known with_coordinates(Maker& maker, const Known& x) {
  Places places(maker);
  const Known width = places.extent(x, 3);
  const Known columns = maker.chance(0.5)
                            ? places.range(width, x.dims[3], DType::i64)
                            : places.range(width, x.dims[3], DType::f32, maker.one_of<double>({1, 0.5, 0.25}));
  const Known floats = columns.dtype == DType::f32 ? columns : places.cast(columns, DType::f32);
  const Known share =
      places.node("Div", {floats, places.cast(width, DType::f32)}, Places::real({x.dims[3]}).between(0, 1));
  const Known line =
      places.node("Reshape", {share, maker.ints({1, 1, 1, -1})}, Places::real({1, 1, 1, x.dims[3]}).between(0, 1));
  const Known one = maker.ints({1});
  const Known shape = places.join({places.extents(x, 0, 1), one, places.extents(x, 2, 4)});
  Dims dims = x.dims;
  dims[1] = 1;
  return joined(maker, x, places.node("Expand", {line, shape}, line.with(dims)));
}

/// Adds a number that increases from column to column, like position terms.
Known with_positions(Maker& maker, const Known& x) {
  Places places(maker);
  const double step = maker.real(0.2, 1);
  const Known width = places.extent(x, 3);
  Known line = places.range(width, x.dims[3], DType::f32);
  line = places.node("Mul", {line, maker.scalar(step, DType::f32, {})}, line);
  return in_chain(maker, "Add", {x, line}, x.between(x.low, x.high + step * static_cast<double>(x.dims[3])));
}

/// Reduces [n, channels, height, width] to [n, channels], which other recipes can use.
void close_image(Maker& maker, const Known& x) {
  const Dims closed = {x.dims[0], x.dims[1]};
  if (maker.chance(0.5)) {
    const Known mean = in_chain(maker, "GlobalAveragePool", {x}, x.with(Dims{x.dims[0], x.dims[1], 1, 1}));
    maker.node("Flatten", {mean}, mean.with(closed));
    return;
  }
  Places places(maker);
  const Known shape = places.join({places.extents(x, 0, 2), maker.ints({-1})});
  const Known flat = in_chain(maker, "Reshape", {x, shape}, x.with(Dims{x.dims[0], x.dims[1], x.dims[2] * x.dims[3]}));
  if (maker.opset() < 18) {
    maker.node("ReduceMean", {flat}, flat.with(closed), {{"axes", Dims{2}}, {"keepdims", int64_t{0}}});
  } else {
    maker.node("ReduceMean", {flat, maker.ints({2})}, flat.with(closed), {{"keepdims", int64_t{0}}});
  }
}

/// An image of dynamic height and width, in steps that read its extents.
void write_image(Maker& maker, std::string_view op) {
  maker.require(maker.style().rows);
  const Dims dims = {maker.style().batch, maker.between(1, 3), maker.between(3, 6), maker.between(3, 6)};
  Dims other = dims;
  other[2] += maker.between(1, 3), other[3] += maker.between(1, 3);
  Known x = convolved(maker, maker.open_input(dims, {2, 3}, other), maker.between(2, 4));
  for (int64_t i = maker.between(0, 1); i >= 0; --i) {
    const auto step = i > 0 ? maker.one_of<std::string>({"Resize", "Expand", "Range", "Slice"}) : std::string(op);
    if (step == "Resize") x = down_and_up(maker, x);
    if (step == "Expand" || step == "ConstantOfShape") x = with_expanded(maker, x);
    if (step == "Range") x = maker.chance(0.5) ? with_coordinates(maker, x) : with_positions(maker, x);
    if (step == "Slice") x = to_fixed_size(maker, x);
    if (maker.chance(0.5)) x = convolved(maker, x, maker.between(2, 4));
  }
  close_image(maker, x);
}

/// Rows of a dynamic length after a class token. Only the token's row is used.
void write_token(Maker& maker, std::string_view op) {
  maker.require(maker.style().rows);
  Places places(maker);
  const int64_t batch = maker.style().batch, length = maker.between(2, 6), wide = maker.between(2, 6);
  const Known x = maker.open_input({batch, length, wide}, {1}, {batch, length + maker.between(1, 3), wide});
  const Known first = maker.weights(DType::f32, {1, 1, wide}, -1, 1);
  const Known shape = places.join({places.extents(x, 0, 1), maker.ints({-1, -1})});
  Known token;
  if (maker.chance(0.5)) {  // as torch writes expand(n, -1, -1)
    const Known ones = places.filled(maker.ints({3}), {3}, 1, DType::i64);
    const Known is_kept =
        places.node("Equal", {shape, maker.ints({-1, -1, -1})}, Places::whole({3}).with(DType::boolean));
    const Known said = places.node("Where", {is_kept, ones, shape}, Places::whole({3}));
    token = places.node(op, {first, said}, first.with(Dims{batch, 1, wide}));
  } else {
    const Known said = places.join({places.extents(x, 0, 1), maker.ints({1, 1})});
    token = places.node(op, {first, said}, first.with(Dims{batch, 1, wide}));
  }
  const Known all =
      in_chain(maker, "Concat", {token, x}, x.with(Dims{batch, length + 1, wide}), {{"axis", int64_t{1}}});
  const Known weights = maker.weights(DType::f32, {wide, wide}, -0.7, 0.7);
  const Known product = in_chain(maker, "MatMul", {all, weights}, all.between(-6, 6));
  const Known mean_axis = maker.ints({1});
  if (maker.chance(0.5)) {
    maker.node("Gather", {product, places.number(0)}, product.with(Dims{batch, wide}), {{"axis", int64_t{1}}});
  } else if (maker.opset() < 18) {
    maker.node("ReduceMean", {product}, product.with(Dims{batch, wide}), {{"axes", Dims{1}}, {"keepdims", int64_t{0}}});
  } else {
    maker.node("ReduceMean", {product, mean_axis}, product.with(Dims{batch, wide}), {{"keepdims", int64_t{0}}});
  }
}

/// h[arange(n), k] as exporters write it. The position of each sample's row among all rows is computed, partly in
/// float, and then converted to an integer.
void write_places(Maker& maker, std::string_view op) {
  maker.require(maker.style().rows);
  Places places(maker);
  const Known x = maker.any({{DType::f32}, 3, 3, [](const Known& v) { return v.rows && v.size() > 0; }});
  const int64_t batch = x.dims[0], length = x.dims[1], wide = x.dims[2], k = maker.between(0, length - 1);
  const Known rows = in_chain(maker, "Reshape", {x, maker.ints({-1, wide})}, x.with(Dims{batch * length, wide}));
  const Known count = places.extent(x, 0);
  const DType dtype = maker.chance(0.5) ? DType::i64 : DType::f32;
  const auto number = [&](double value, DType type) { return maker.scalar(value, type, {}); };
  Known at = places.range(count, batch, dtype);
  at = places.node("Mul", {at, number(static_cast<double>(length), dtype)}, at);
  if (dtype == DType::i64) at = places.cast(at, DType::f32);
  const Known offset = maker.chance(0.5)
                           ? places.filled(places.node("Reshape", {count, maker.ints({1})}, Places::whole({1})),
                                           {batch}, static_cast<double>(k))
                           : number(static_cast<double>(k), DType::f32);
  at = places.node("Add", {offset, at}, at);
  if (maker.chance(0.4)) {
    at = places.node("Mul", {at, number(16, DType::f32)}, at);
    at = places.node("Div", {at, number(16, DType::f32)}, at);
    if (maker.chance(0.5)) at = places.node("Floor", {at}, at);
  }
  at = places.cast(at, DType::i64);
  Known chosen = rows.with(Dims{batch, wide});
  chosen.rows = true;
  Known whole_rows = rows;
  whole_rows.rows = true;
  maker.node(op, {whole_rows, at}, chosen, {{"axis", int64_t{0}}});
}

}  // namespace

Recipes open_recipes() {
  return {{"Resize", write_image, Home::shapes, 13},
          {"Expand", write_image, Home::shapes, 13},
          {"ConstantOfShape", write_image, Home::shapes, 13},
          {"Range", write_image, Home::shapes, 13},
          {"Slice", write_image, Home::codes, 13},
          {"Expand", write_token, Home::shapes, 13},
          {"Gather", write_places, Home::shapes, 13},
          {"Gather", write_places, Home::shapes, 13},
          {"Gather", write_places, Home::shapes, 13}};
}

}  // namespace halfstep::fuzz
