// Operators on the elements of several tensors, comparisons and conversions.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

const std::vector<DType> kNumbers = {DType::f32, DType::f64, DType::i32, DType::i64};
const std::vector<DType> kWhole = {DType::i32, DType::i64, DType::u8, DType::i8};
const std::vector<DType> kUnsigned = {DType::u8, DType::u32, DType::u64};

/// A constant that broadcasts to x: one number, one for each channel, or of some of its extents.
Known small_operand(Maker& maker, const Known& x, double low, double high) {
  if (maker.chance(0.25)) return maker.scalar(maker.real(low, high), x.dtype);
  const int64_t rank = maker.between(0, x.rank());
  Dims dims(x.dims.end() - rank, x.dims.end());
  for (int64_t& d : dims) {
    if (maker.chance(0.4)) d = 1;
  }
  if (rank == x.rank() && rank > 0 && x.rows) dims[0] = 1;
  if (!maker.keeps_rows(x) && maker.chance(0.1)) dims.insert(dims.begin(), static_cast<size_t>(maker.between(1, 2)), 1);
  return maker.weights(x.dtype, dims, low, high);
}

/// Another value or a constant that broadcasts with x.
Known partner(Maker& maker, const Known& x, double low = -2, double high = 2) {
  if (maker.chance(0.45)) return small_operand(maker, x, low, high);
  const auto fits = [&](const Known& y) {
    if (y.rows != x.rows && maker.style().rows && !y.constant) return false;
    if (y.rows && y.rank() != x.rank()) return false;
    if (x.rows && y.rank() > x.rank()) return false;  // rows would no longer be the first axis
    if (x.rows && !y.rows && y.rank() == x.rank() && y.dims.front() != 1) return false;  // fits only one batch size
    try {
      return count_elements(broadcast(x.dims, y.dims)) <= 20000;
    } catch (const Unsuited&) {
      return false;
    }
  };
  return maker.any({{x.dtype}, 0, 5, fits});
}

Known binary(Maker& maker, std::string_view op, const Known& a, const Known& b, DType dtype, double low, double high,
             const Attributes& attributes = {}) {
  Known result = a.with(broadcast(a.dims, b.dims)).with(dtype).between(low, high);
  if (maker.chance(0.3)) return maker.node(op, {b, a}, result, attributes);
  return maker.node(op, {a, b}, result, attributes);
}

/// A value that is never negative has codes from 0, whose products are the largest.
void make_square(Maker& maker, const Known& a) {
  const Known magnitude = maker.node("Abs", {a}, a.between(0, std::max(std::abs(a.low), std::abs(a.high))));
  maker.node("Mul", {magnitude, magnitude}, magnitude.between(0, magnitude.high * magnitude.high));
}

/// Arithmetic on two activations of the same extents.
void make_simple_arithmetic(Maker& maker, std::string_view op, const Known& a) {
  const auto alike = [&](const Known& y) { return y.dims == a.dims && y.rows == a.rows && !y.constant; };
  if (op == "Mul" && maker.chance(0.5)) return make_square(maker, a);
  const Known b = maker.any({{a.dtype}, a.rank(), a.rank(), alike});
  const double magnitude = std::max(std::abs(a.low), std::abs(a.high)),
               other = std::max(std::abs(b.low), std::abs(b.high));
  const double bound = op == "Mul" ? magnitude * other : magnitude + other;
  maker.node(op, {a, b}, a.between(-bound, bound));
}

void make_arithmetic(Maker& maker, std::string_view op) {
  const Known a = maker.any({kNumbers});
  if (maker.style().simple) return make_simple_arithmetic(maker, op, a);
  if (op == "Div") {
    Known b = small_operand(maker, a, 1, 4);
    maker.node(op, {a, b}, a.with(broadcast(a.dims, b.dims)).between(-std::abs(a.low), std::abs(a.high)));
    return;
  }
  const Known b = maker.chance(0.05) ? a : partner(maker, a);
  const double magnitude = std::max(std::abs(a.low), std::abs(a.high)),
               other = std::max(std::abs(b.low), std::abs(b.high));
  const double bound = op == "Mul" ? magnitude * other : magnitude + other;
  binary(maker, op, a, b, a.dtype, -bound, bound);
}

void make_comparison(Maker& maker, std::string_view op) {
  const bool floats = op == "Equal" ? maker.opset() >= 11 : true, whole = op == "Equal" || maker.opset() >= 9;
  std::vector<DType> dtypes;
  if (floats) dtypes.push_back(DType::f32);
  if (whole) dtypes.insert(dtypes.end(), {DType::i32, DType::i64});
  const Known a = maker.any({dtypes});
  binary(maker, op, a, partner(maker, a), DType::boolean, 0, 1);
}

/// An existing or new condition.
Known condition(Maker& maker) {
  if (maker.chance(0.5)) return maker.any({{DType::boolean}});
  const Known x = maker.any({{DType::f32}});
  return maker.node("Greater", {x, maker.scalar(maker.real(-0.5, 0.5))}, x.with(DType::boolean).between(0, 1));
}

void make_logic(Maker& maker, std::string_view op) {
  const Known a = condition(maker);
  if (op == "Not") {
    maker.node(op, {a}, a);
    return;
  }
  binary(maker, op, a, partner(maker, a, 0, 1), DType::boolean, 0, 1);
}

void make_where(Maker& maker, std::string_view op) {
  const Known c = condition(maker);
  const auto fits = [&](const Known& y) { return y.dims == c.dims && y.rows == c.rows; };
  const Known a = maker.any({{DType::f32}, 0, 5, fits});
  const Known b = small_operand(maker, a, -2, 2);
  const Known result = a.with(broadcast(broadcast(c.dims, a.dims), b.dims));
  maker.node(op, {c, a, b}, result.between(std::min(a.low, b.low), std::max(a.high, b.high)));
}

void make_bits(Maker& maker, std::string_view op) {
  const Known a = maker.any({op == "BitShift" ? kUnsigned : kWhole});
  if (op == "BitwiseNot") {
    maker.node(op, {a}, a.between(-9, 9));
    return;
  }
  const Known b = op == "BitShift" ? small_operand(maker, a, 0, 5) : partner(maker, a, 0, 9);
  Attributes attributes;
  if (op == "BitShift") attributes["direction"] = std::string(maker.chance(0.5) ? "LEFT" : "RIGHT");
  maker.node(op, {a, b}, a.with(broadcast(a.dims, b.dims)).between(-99, 99), attributes);
}

void make_several(Maker& maker, std::string_view op) {
  const bool whole = (op == "Max" || op == "Min") && maker.opset() >= 12;
  const Known first = maker.any({whole ? std::vector{DType::f32, DType::f64, DType::i32, DType::i64} : kFloats});
  std::vector<Known> inputs = {first};
  Known result = first;
  for (int64_t more = maker.between(0, 3); more > 0; --more) {
    inputs.push_back(partner(maker, result));
    result = result.with(broadcast(result.dims, inputs.back().dims))
                 .between(result.low + inputs.back().low, result.high + inputs.back().high);
  }
  maker.node(op, inputs, result);
}

void make_clip(Maker& maker, std::string_view op) {
  const Known x = maker.any({kFloats});
  double low = maker.real(-1, 0.5), high = low + maker.real(0, 6);
  if (maker.chance(0.3)) low = 0, high = 6;
  const bool has_low = maker.chance(0.8), has_high = maker.chance(0.8);
  const Known result = x.between(has_low ? std::max(low, x.low) : x.low, has_high ? std::min(high, x.high) : x.high);
  if (maker.opset() < 11) {
    Attributes attributes;
    if (has_low) attributes["min"] = low;
    if (has_high) attributes["max"] = high;
    maker.node(op, {x}, result, attributes);
    return;
  }
  const auto bound = [&](bool there, double value) {
    if (!there) return Maker::absent();
    return maker.scalar(value, x.dtype, {});
  };
  const Known lowest = bound(has_low, low), highest = bound(has_high, high);
  maker.node(op, {x, lowest, highest}, result);
}

void make_prelu(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1});
  Dims dims = x.dims;
  for (int64_t& d : dims) d = maker.chance(0.5) ? 1 : d;
  if (x.rows) dims[0] = 1;
  if (x.rank() >= 2 && maker.chance(0.6)) {  // one for each channel
    dims.assign(static_cast<size_t>(x.rank() - 1), 1);
    dims[0] = x.dims[1];
  }
  maker.node(op, {x, maker.weights(DType::f32, dims, -0.5, 1.5)},
             x.between(std::min(x.low, -x.low), std::max(x.high, -x.low)));
}

void make_power(Maker& maker, std::string_view op) {
  const Known x = maker.any_between({{DType::f32}}, 0.05, 8);
  const Known y =
      maker.chance(0.5) ? maker.scalar(maker.one_of<double>({2, 0.5, 3, -1, 1, 0})) : small_operand(maker, x, -2, 3);
  const double most = std::pow(std::max(std::abs(x.high), 1 / std::max(x.low, 0.05)), 3);
  maker.node(op, {x, y}, x.with(broadcast(x.dims, y.dims)).between(-most, most));
}

void make_modulo(Maker& maker, std::string_view op) {
  const Known a = maker.any({{DType::i32, DType::i64, DType::u8, DType::f32}});
  const Known b = small_operand(maker, a, 1, 4);
  Attributes attributes;
  if (is_float(a.dtype) || maker.chance(0.4)) attributes["fmod"] = int64_t{1};
  maker.node(op, {a, b}, a.with(broadcast(a.dims, b.dims)).between(-4, 4), attributes);
}

void make_test(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::f64}});
  Attributes attributes;
  if (op == "IsInf" && maker.chance(0.4)) attributes["detect_negative"] = int64_t{maker.chance(0.5)};
  maker.node(op, {x}, x.with(DType::boolean).between(0, 1), attributes);
}

void make_cast(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::f64, DType::f16, DType::i32, DType::i64, DType::boolean, DType::u8}});
  const DType to =
      maker.one_of<DType>({DType::f32, DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16});
  const Known result = to == DType::boolean ? x.with(to).between(0, 1) : x.with(to);
  if (op == "CastLike") {
    maker.node(op, {x, maker.weights(to, {}, 0, 1)}, result);
    return;
  }
  maker.node(op, {x}, result, {{"to", formats::onnx::onnx_type_of(to)}});
}

}  // namespace

Recipes pointwise_recipes() {
  Recipes recipes = {{"Add", make_arithmetic, Home::codes},
                     {"Mul", make_arithmetic, Home::codes},
                     {"Sub", make_arithmetic, Home::codes},
                     {"Div", make_arithmetic},
                     {"Equal", make_comparison},
                     {"Greater", make_comparison},
                     {"GreaterOrEqual", make_comparison, Home::floats, 12},
                     {"Less", make_comparison},
                     {"LessOrEqual", make_comparison, Home::floats, 12},
                     {"Where", make_where, Home::floats, 9},
                     {"BitwiseNot", make_bits, Home::floats, 18},
                     {"BitShift", make_bits, Home::floats, 11},
                     {"Clip", make_clip},
                     {"PRelu", make_prelu},
                     {"Pow", make_power},
                     {"Mod", make_modulo, Home::floats, 10},
                     {"IsNaN", make_test, Home::floats, 9},
                     {"IsInf", make_test, Home::floats, 10},
                     {"Cast", make_cast, Home::floats, 9},
                     {"CastLike", make_cast, Home::floats, 15}};
  for (const char* op : {"And", "Or", "Xor", "Not"}) recipes.push_back({op, make_logic});
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) recipes.push_back({op, make_bits, Home::floats, 18});
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) recipes.push_back({op, make_several, Home::floats, 8});
  return recipes;
}

}  // namespace halfstep::fuzz
