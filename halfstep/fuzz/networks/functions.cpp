// Functions of one number.
#include <cmath>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

constexpr double kAll = 1e30;

struct Function {
  std::string_view op;
  double (*value)(double);
  double low = -kAll, high = kAll;  ///< limits of the requested inputs
  int64_t since = 7;
  std::vector<std::string> floats = {};  ///< optional attributes
  bool only_f32 = false;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double asinh_of(double x) { return std::asinh(x); }

const std::vector<Function>& functions() {
  static const std::vector<Function> kFunctions = {
      {"Abs", [](double x) { return std::abs(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Sign", [](double x) { return x > 0 ? 1.0 : -1.0; }, -kAll, kAll, 9},
      {"Reciprocal", [](double x) { return 1 / x; }, 0.1, kAll},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0, kAll},
      {"Exp", [](double x) { return std::exp(x); }, -20, 6},
      {"Log", [](double x) { return std::log(x); }, 0.01, kAll},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }, -kAll, kAll, 11},
      {"Sin", [](double x) { return std::sin(x); }, -50, 50},
      {"Cos", [](double x) { return std::cos(x); }, -50, 50},
      {"Tan", [](double x) { return std::tan(x); }, -1.4, 1.4, 7, {}, true},
      {"Asin", [](double x) { return std::asin(x); }, -1, 1, 7, {}, true},
      {"Acos", [](double x) { return std::acos(x); }, -1, 1, 7, {}, true},
      {"Atan", [](double x) { return std::atan(x); }, -kAll, kAll, 7, {}, true},
      {"Sinh", [](double x) { return std::sinh(x); }, -6, 6, 9, {}, true},
      {"Cosh", [](double x) { return std::cosh(x); }, -6, 6, 9, {}, true},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Asinh", asinh_of, -kAll, kAll, 9, {}, true},
      {"Acosh", [](double x) { return std::acosh(x); }, 1.01, kAll, 9, {}, true},
      {"Atanh", [](double x) { return std::atanh(x); }, -0.95, 0.95, 9, {}, true},
      {"Erf", [](double x) { return std::erf(x); }, -kAll, kAll, 9, {}, true},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }, -50, 50},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Elu", [](double x) { return x > 0 ? x : 2 * std::expm1(x); }, -kAll, kAll, 7, {"alpha"}},
      {"Selu", [](double x) { return x > 0 ? 2 * x : 4 * std::expm1(x); }, -kAll, kAll, 7, {"alpha", "gamma"}},
      {"Celu", [](double x) { return x > 0 ? x : 2 * std::expm1(x); }, -kAll, kAll, 12, {"alpha"}, true},
      {"HardSigmoid", [](double x) { return x > 0 ? 1.0 : 0.0; }, -kAll, kAll, 7, {"alpha", "beta"}},
      {"HardSwish", [](double x) { return x > 0 ? x : -0.4; }, -kAll, kAll, 14},
      {"Swish", [](double x) { return x * sigmoid(x); }, -kAll, kAll, 24, {"alpha"}},
      {"Mish", [](double x) { return x > 0 ? x : -0.4; }, -kAll, kAll, 18},
      {"ThresholdedRelu", [](double x) { return x > 0 ? x : 0; }, -kAll, kAll, 10, {"alpha"}},
      {"Shrink", [](double x) { return x; }, -kAll, kAll, 9, {"bias", "lambd"}},
      {"Relu", [](double x) { return x > 0 ? x : 0; }},
      {"LeakyRelu", [](double x) { return x > 0 ? x : 2 * x; }, -kAll, kAll, 7, {"alpha"}},
      {"Sigmoid", sigmoid},
      {"Identity", [](double x) { return x; }},
  };
  return kFunctions;
}

void make_function(Maker& maker, std::string_view op) {
  for (const Function& function : functions()) {
    if (function.op != op) continue;
    const Want want{function.only_f32 ? std::vector{DType::f32} : kFloats};
    const Known x = maker.any_between(want, function.low, function.high);
    Attributes attributes;
    for (const std::string& name : function.floats) {
      if (maker.chance(0.6)) attributes[name] = maker.chance(0.2) ? maker.real(-1.5, 0) : maker.real(0.01, 1.5);
    }
    const auto [low, high] = image_of(function.value, x.low, x.high);
    maker.node(op, {x}, x.between(low, high), attributes);
    return;
  }
}

/// The activation of a layer, at its usual position after the layer.
void make_gelu(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}});
  Attributes attributes;
  const bool is_onnx = op == "Gelu" && maker.opset() >= 20;
  if (is_onnx && maker.chance(0.7)) attributes["approximate"] = std::string(maker.chance(0.5) ? "tanh" : "none");
  maker.node(op, {x}, x.between(-0.2, std::max(x.high, 0.0)), attributes, is_onnx ? "" : "com.microsoft");
}

void make_microsoft(Maker& maker, std::string_view op) {
  Known x = maker.any({{DType::f32}});
  std::vector<Known> inputs = {x};
  if (op == "FastGelu" && !maker.style().simple && maker.chance(0.1) && x.rank() > 0)
    inputs.push_back(maker.weights(DType::f32, {x.dims.back()}, -1, 1));
  maker.node(op, inputs, x.between(-0.2, std::max(x.high, 0.0) + 1), {}, "com.microsoft");
}

}  // namespace

Recipes function_recipes() {
  Recipes recipes;
  for (const Function& function : functions())
    recipes.push_back(
        {function.op, make_function, function.op == "Identity" ? Home::codes : Home::table, function.since});
  recipes.push_back({"Gelu", make_gelu, Home::table, 20});
  recipes.push_back({"Gelu", make_microsoft, Home::table, 7, std::numeric_limits<int64_t>::max(), "com.microsoft"});
  recipes.push_back({"FastGelu", make_microsoft, Home::table, 7, std::numeric_limits<int64_t>::max(), "com.microsoft"});
  return recipes;
}

}  // namespace halfstep::fuzz
