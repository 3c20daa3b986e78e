// Layers as exporters write them, as several operators in many orders. A few deviate from the layer, to test that only
// true forms are recognized.
#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

Known in_either_order(Maker& maker, std::string_view op, const Known& a, const Known& b, const Known& result) {
  return maker.chance(0.5) ? maker.node(op, {a, b}, result) : maker.node(op, {b, a}, result);
}

/// A constant of the form, rarely another number.
Known form_number(Maker& maker, double value) { return maker.scalar(maker.chance(0.97) ? value : value * 1.01); }

/// The product of all factors in any order.
Known product_of(Maker& maker, std::vector<Known> factors, const Known& result) {
  while (factors.size() > 1) {
    const Known a = factors.back();
    factors.pop_back();
    const auto at = static_cast<size_t>(maker.between(0, static_cast<int64_t>(factors.size()) - 1));
    factors[at] = in_either_order(maker, "Mul", a, factors[at], result);
  }
  return factors[0];
}

Known small_activation(Maker& maker) {
  return maker.any({{DType::f32}, 1, 4, [](const Known& x) { return x.size() > 0 && x.low > -9 && x.high < 9; }});
}

/// x * 0.5 * (gate + 1), which is x or 0 for most x.
void write_gate(Maker& maker, const Known& x, const Known& gate) {
  const Known sum = in_either_order(maker, "Add", gate, form_number(maker, 1), gate.between(0, 2));
  product_of(maker, {x, form_number(maker, 0.5), sum}, x.between(std::min(x.low, -0.2), std::max(x.high, 0.0)));
}

void write_gelu(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  const double root = std::sqrt(2.0);
  const Known scaled = maker.chance(0.5) ? maker.node("Div", {x, form_number(maker, root)}, x)
                                         : in_either_order(maker, "Mul", x, form_number(maker, 1 / root), x);
  write_gate(maker, x, maker.node(op, {scaled}, x.between(-1, 1)));
}

void write_gelu_by_tanh(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker), wide = x.between(-50, 50);
  const Known cube =
      maker.chance(0.5) ? maker.node("Pow", {x, maker.scalar(3)}, wide) : product_of(maker, {x, x, x}, wide);
  const Known part = in_either_order(maker, "Mul", cube, form_number(maker, 0.044715), wide);
  const Known sum = in_either_order(maker, "Add", x, part, wide);
  const Known scaled = in_either_order(maker, "Mul", sum, form_number(maker, std::sqrt(2 / std::acos(-1.0))), wide);
  write_gate(maker, x, maker.node(op, {scaled}, x.between(-1, 1)));
}

void write_silu(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  const Known gate = maker.node(op, {x}, x.between(0, 1));
  in_either_order(maker, "Mul", x, gate, x.between(std::min(x.low, -0.3), std::max(x.high, 0.0)));
}

/// A reduction along one axis, which stays with extent 1.
Known reduced_along(Maker& maker, std::string_view op, const Known& x, int64_t axis, const Known& result,
                    int64_t since) {
  Dims dims = x.dims;
  dims[static_cast<size_t>(axis)] = 1;
  const int64_t written = maker.perhaps_negative(axis, x.rank());
  if (maker.opset() < since) return maker.node(op, {x}, result.with(dims), {{"axes", Dims{axis}}});
  return maker.node(op, {x, maker.ints({written})}, result.with(dims));
}

/// The last axis, rarely another.
int64_t last_axis(Maker& maker, const Known& x) {
  return maker.chance(0.95) ? x.rank() - 1 : std::max<int64_t>(x.rank() - 2, 1);
}

/// x divided by the root of `square`, its mean square along the last axis, times a scale.
Known over_root_of(Maker& maker, const Known& x, const Known& square) {
  const Known shifted =
      in_either_order(maker, "Add", square, maker.scalar(maker.real(1e-3, 0.1)), square.between(0.001, 20));
  const Known root = maker.node("Sqrt", {shifted}, square.between(0.03, 5)), normal = x.between(-4, 4);
  const Known quotient =
      maker.chance(0.5)
          ? maker.node("Div", {x, root}, normal)
          : in_either_order(maker, "Mul", x, maker.node("Reciprocal", {root}, square.between(0.2, 30)), normal);
  return in_either_order(maker, "Mul", quotient, maker.weights(DType::f32, {x.dims.back()}, -1, 1), normal);
}

Known square_of(Maker& maker, const Known& x) {
  const Known square = x.between(0, x.high * x.high + 1);
  return maker.chance(0.5) ? maker.node("Pow", {x, maker.scalar(2)}, square) : maker.node("Mul", {x, x}, square);
}

void write_layer_norm(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  maker.require(x.rank() >= 2 && x.dims.back() > 1);
  const int64_t axis = last_axis(maker, x), since = 18;
  const Known mean = reduced_along(maker, op, x, axis, x, since);
  const Known rest = maker.node("Sub", {x, mean}, x.between(x.low - x.high, x.high - x.low));
  const Known square = square_of(maker, rest);
  const Known variance = reduced_along(maker, op, square, axis, square, since);
  const Known scaled = over_root_of(maker, rest, variance);
  if (maker.chance(0.8))
    in_either_order(maker, "Add", scaled, maker.weights(DType::f32, {x.dims.back()}, -1, 1), scaled.between(-5, 5));
}

void write_rms_norm(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  maker.require(x.rank() >= 2);
  const Known square = square_of(maker, x);
  over_root_of(maker, x, reduced_along(maker, op, square, last_axis(maker, x), square, 18));
}

void write_softmax(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  maker.require(x.rank() >= 2);
  const int64_t axis = maker.axis(x);
  const Known largest = reduced_along(maker, op, x, axis, x, 18);
  const Known rest = maker.node("Sub", {x, largest}, x.between(x.low - x.high, 0));
  const Known power = maker.node("Exp", {rest}, x.between(0, 1));
  const Known sum = reduced_along(maker, "ReduceSum", power, axis, x.between(1, 10), 13);
  maker.node("Div", {power, sum}, x.between(0, 1));
}

/// A mask of zeros, with `hidden` at some positions, but never in the first column.
Known stored_mask(Maker& maker, const Known& x, double hidden) {
  Tensor mask(DType::f32, {maker.chance(0.5) ? x.dims[x.dims.size() - 2] : 1, x.dims.back()});
  const auto contents = mask.data<float>();
  const auto columns = static_cast<size_t>(x.dims.back());
  for (size_t i = 0; i < contents.size(); ++i)
    contents[i] = i % columns > 0 && maker.chance(0.3) ? static_cast<float>(hidden) : 0.0F;
  return maker.contents(mask, 0, 0);
}

/// A softmax of masked scores: a stored mask is added, or a condition selects the scores.
void write_masked_softmax(Maker& maker, std::string_view op) {
  const Known x = small_activation(maker);
  maker.require(x.rank() >= 2);
  const double lowest = std::numeric_limits<float>::lowest();
  const double hidden = maker.one_of<double>({-HUGE_VAL, lowest, -1e4, -100});
  Known masked = x.between(-9, 9);
  if (maker.chance(0.5)) {
    masked = in_either_order(maker, "Add", x, stored_mask(maker, x, hidden), masked);
  } else {
    const Known sees = maker.node("Greater", {x, maker.scalar(maker.real(-0.5, 0.5))}, x.with(DType::boolean));
    masked = maker.node("Where", {sees, x, maker.scalar(std::max(hidden, lowest))}, masked);
  }
  maker.node(op, {masked}, x.between(0, 1), {{"axis", maker.opset() < 13 ? x.rank() - 1 : int64_t{-1}}});
}

/// Writes one of the activation forms. All forms together are as frequent as two operators.
void write_activation(Maker& maker, std::string_view) {
  switch (maker.between(0, 3)) {
    case 0: return write_gelu(maker, "Erf");
    case 1: return write_gelu_by_tanh(maker, "Tanh");
    case 2: return write_masked_softmax(maker, "Softmax");
    default: return write_silu(maker, "Sigmoid");
  }
}

void write_rows(Maker& maker, std::string_view op) {
  switch (maker.between(0, 2)) {
    case 0: return write_layer_norm(maker, op);
    case 1: return write_rms_norm(maker, op);
    default: return write_softmax(maker, "ReduceMax");
  }
}

/// A value computed from extents that no other recipe uses. Results computed from it have the rows of the other
/// operands.
Known of_extents(Maker& maker, std::string_view op, const std::vector<Known>& inputs, const Known& result,
                 const Attributes& attributes = {}) {
  Known value = maker.node(op, inputs, result, attributes);
  maker.forget(value);
  value.constant = true;
  return value;
}

/// Rows of a dynamic length with positions. For a product they are reshaped to [n * length, wide] and back. Other
/// recipes only use the first row.
void write_sequence(Maker& maker, std::string_view op) {
  maker.require(maker.style().rows);
  const int64_t batch = maker.style().batch, length = maker.between(2, 6), wide = maker.between(1, 6),
                outputs = maker.between(1, 6);
  const Known x = maker.open_input({batch, length, wide}, {1}, {batch, length - 1, wide});
  const auto whole = [](Dims dims) { return Known{"", DType::i64, std::move(dims), 0, 6}; };
  const auto number = [&](int64_t value) { return maker.scalar(static_cast<double>(value), DType::i64, {}); };
  const Known shape = of_extents(maker, "Shape", {x}, whole({3}));
  const Known count = of_extents(maker, "Gather", {shape, number(1)}, whole({}));
  const Known places = of_extents(maker, op, {number(0), count, number(1)}, whole({length}));
  const Known table = maker.weights(DType::f32, {length + maker.between(0, 3), wide}, -1, 1);
  const Known located = of_extents(maker, "Gather", {table, places}, Known{"", DType::f32, {length, wide}});
  Known flat = maker.node("Add", {x, located}, x.between(-3, 3));
  maker.forget(flat);
  flat = maker.node("Reshape", {flat, maker.ints({-1, wide})}, flat.with(Dims{batch * length, wide}));
  maker.forget(flat);
  flat.rows = true;
  const Known weights = maker.weights(DType::f32, {wide, outputs}, -1, 1);
  Known product = maker.node("MatMul", {flat, weights}, Known{"", DType::f32, {batch * length, outputs}, -9, 9});
  maker.forget(product);
  product.rows = true;
  const Known some = of_extents(maker, "Gather", {shape, maker.ints({0, 1})}, whole({2}));
  const Known extents = of_extents(maker, "Concat", {some, maker.ints({outputs})}, whole({3}), {{"axis", int64_t{0}}});
  const Known rows = maker.node("Reshape", {product, extents}, product.with(Dims{batch, length, outputs}));
  maker.forget(rows);
  maker.node("Gather", {rows, number(0)}, rows.with(Dims{batch, outputs}), {{"axis", int64_t{1}}});
}

}  // namespace

Recipes form_recipes() {
  return {{"Erf", write_activation, Home::floats, 9},
          {"ReduceMean", write_rows},
          {"Range", write_sequence, Home::shapes, 11}};
}

}  // namespace halfstep::fuzz
