// Operators that reduce many numbers to one.
#include <algorithm>
#include <cmath>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

struct Range {
  double low, high;
};

Range range_of(std::string_view op, const Known& x, double count) {
  const double magnitude = std::max(std::abs(x.low), std::abs(x.high));
  if (op == "ReduceMax" || op == "ReduceMin" || op == "ReduceMean") return {x.low, x.high};
  if (op == "ReduceSum") return {std::min(0.0, x.low * count), std::max(0.0, x.high * count)};
  if (op == "ReduceL1") return {0, magnitude * count};
  if (op == "ReduceL2") return {0, magnitude * std::sqrt(count)};
  if (op == "ReduceSumSquare") return {0, magnitude * magnitude * count};
  if (op == "ReduceProd")
    return {-std::pow(std::max(magnitude, 1.0), count), std::pow(std::max(magnitude, 1.0), count)};
  if (op == "ReduceLogSum") return {std::log(std::max(x.low, 1e-3)), std::log(std::max(x.high, 1e-3) * count)};
  return {x.low, x.high + std::log(count)};
}

void make_reduction(Maker& maker, std::string_view op) {
  const bool whole = op != "ReduceLogSum" && op != "ReduceLogSumExp" && op != "ReduceL2" && !maker.style().plain;
  const Want want{whole && maker.chance(0.2) ? std::vector{DType::i32, DType::i64} : std::vector{DType::f32},
                  maker.style().rows ? 2 : 0, 5, is_full};
  const Known x = op == "ReduceLogSum" ? maker.any_between(want, 0.01, 1e6) : maker.any(want);
  const int64_t least = maker.keeps_rows(x) ? 1 : 0;
  const bool all = least == 0 && maker.chance(0.2);
  const bool keeps = maker.chance(0.6);
  Dims axes, dims;
  double count = 1;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t d = x.dims[static_cast<size_t>(axis)];
    const bool reduced = all || (axis >= least && (maker.chance(0.5) || (axes.empty() && axis == x.rank() - 1)));
    if (reduced) {
      axes.push_back(maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis);
      count *= static_cast<double>(d);
    }
    if (!reduced || keeps) dims.push_back(reduced ? 1 : d);
  }
  maker.require(all || !axes.empty());
  Attributes attributes;
  if (!keeps || maker.chance(0.4)) attributes["keepdims"] = int64_t{keeps};
  std::vector<Known> inputs = {x};
  const bool as_input = maker.opset() >= (op == "ReduceSum" ? 13 : 18);
  if (!all && as_input) inputs.push_back(maker.ints(axes));
  if (!all && !as_input) attributes["axes"] = axes;
  const auto [low, high] = range_of(op, x, count);
  maker.node(op, inputs, x.with(dims).between(low, high), attributes);
}

void make_arg(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i32}, maker.style().rows ? 2 : 1, 4, is_full});
  const int64_t axis = maker.axis(x);
  const bool keeps = maker.chance(0.5);
  Dims dims = x.dims;
  const int64_t extent = dims[static_cast<size_t>(axis)];
  if (keeps) dims[static_cast<size_t>(axis)] = 1;
  if (!keeps) dims.erase(dims.begin() + axis);
  Attributes attributes = {{"axis", maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis},
                           {"keepdims", int64_t{keeps}}};
  if (maker.opset() >= 12 && maker.chance(0.4)) attributes["select_last_index"] = int64_t{maker.chance(0.5)};
  maker.node(op, {x}, x.with(dims).with(DType::i64).between(0, static_cast<double>(extent - 1)), attributes);
}

void make_cumulative(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i64}, maker.style().rows ? 2 : 1, 4});
  const int64_t axis = maker.axis(x), extent = x.dims[static_cast<size_t>(axis)];
  Attributes attributes;
  if (maker.chance(0.4)) attributes["exclusive"] = int64_t{1};
  if (maker.chance(0.4)) attributes["reverse"] = int64_t{1};
  const double magnitude = std::max(std::abs(x.low), std::abs(x.high)),
               count = static_cast<double>(std::max<int64_t>(extent, 1));
  const double bound = op == "CumSum" ? magnitude * count : std::pow(std::max(magnitude, 1.0), count);
  const Known where = maker.scalar(static_cast<double>(maker.perhaps_negative(axis, x.rank())), DType::i64, {});
  maker.node(op, {x, where}, x.between(-bound, bound), attributes);
}

void make_top(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, maker.style().rows ? 2 : 1, 4, is_full});
  const int64_t axis = maker.axis(x), extent = x.dims[static_cast<size_t>(axis)], k = maker.between(1, extent);
  Known values = x;
  values.dims[static_cast<size_t>(axis)] = k;
  Attributes attributes = {{"axis", maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis}};
  if (maker.opset() >= 11 && maker.chance(0.5)) attributes["largest"] = int64_t{maker.chance(0.5)};
  std::vector<Known> inputs = {x};
  if (maker.opset() >= 10) inputs.push_back(maker.ints({k}));
  if (maker.opset() < 10) attributes["k"] = k;
  maker.nodes(op, inputs, {values, values.with(DType::i64).between(0, static_cast<double>(extent - 1))}, attributes);
}

}  // namespace

Recipes reduce_recipes() {
  Recipes recipes = {{"ArgMax", make_arg, Home::codes},
                     {"ArgMin", make_arg, Home::codes},
                     {"CumSum", make_cumulative, Home::codes, 11},
                     {"CumProd", make_cumulative, Home::floats, 26},
                     {"TopK", make_top, Home::codes}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    recipes.push_back({op, make_reduction});
  return recipes;
}

}  // namespace halfstep::fuzz
