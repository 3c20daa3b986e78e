// Quantizers and operators on codes.
#include <algorithm>
#include <cmath>

#include "halfstep/core/base/divide.h"
#include "halfstep/fuzz/networks/node_recipes.h"
#include "halfstep/fuzz/networks/spatial_windows.h"

namespace halfstep::fuzz {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr const char* kMicrosoft = "com.microsoft";

/// Codes with their scale and zero point.
struct Codes {
  Known codes, scale, zero;
};

Known zero_point(Maker& maker, DType dtype, double value) { return maker.scalar(value, dtype, {}); }

/// A value of the network in u8 codes.
Codes quantized(Maker& maker, int64_t least_rank, int64_t most_rank) {
  const Known x = maker.any({{DType::f32}, least_rank, most_rank, is_full});
  const double magnitude = std::clamp(std::max(std::abs(x.low), std::abs(x.high)), 0.1, 1e6);
  const Known scale = maker.scalar(magnitude / 127, DType::f32, {}), zero = zero_point(maker, DType::u8, 128);
  return {maker.node("QuantizeLinear", {x, scale, zero}, x.with(DType::u8).between(0, 255)), scale, zero};
}

/// Dequantizes the codes, so that the network can use them.
void back(Maker& maker, const Known& codes, const Known& scale, const Known& zero) {
  const double step = scale.high;
  maker.node("DequantizeLinear", {codes, scale, zero}, codes.with(DType::f32).between(-128 * step, 127 * step));
}

void back(Maker& maker, const Known& sums) { maker.node("Cast", {sums}, sums.with(DType::f32), {{"to", int64_t{1}}}); }

void make_quantize(Maker& maker, std::string_view) {
  const Codes x = quantized(maker, 0, 4);
  back(maker, x.codes, x.scale, x.zero);
}

void make_dynamic(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1, 4, is_full});
  maker.require(!maker.keeps_rows(x));
  Known scalar;
  const auto results =
      maker.nodes(op, {x}, {x.with(DType::u8).between(0, 255), scalar.between(0, 0.1), scalar.with(DType::u8)});
  back(maker, results[0], results[1], results[2]);
}

void make_matmul_integer(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 2, 3);
  const int64_t terms = x.codes.dims.back(), columns = maker.between(1, 5);
  std::vector<Known> inputs = {x.codes,
                               maker.weights(maker.chance(0.5) ? DType::i8 : DType::u8, {terms, columns}, 0, 100)};
  if (maker.chance(0.6)) inputs.push_back(x.zero);
  Dims dims = x.codes.dims;
  dims.back() = columns;
  const double bound = 255.0 * 100 * static_cast<double>(terms);
  back(maker, maker.node(op, inputs, x.codes.with(dims).with(DType::i32).between(-bound, bound)));
}

/// Chooses scale and zero point of a result.
Codes result_of(Maker& maker, const Codes& x, const Dims& dims, double step) {
  Codes y{x.codes.with(dims), maker.scalar(step, DType::f32, {}),
          zero_point(maker, DType::u8, static_cast<double>(maker.between(0, 200)))};
  return y;
}

void make_qlinear_matmul(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 2, 2);
  const int64_t terms = x.codes.dims.back(), columns = maker.between(1, 5);
  const Known w = maker.weights(DType::i8, {terms, columns}, -100, 100), w_scale = maker.scalar(0.01, DType::f32, {});
  const Known w_zero = zero_point(maker, DType::i8, 0);
  Codes y = result_of(maker, x, {x.codes.dims[0], columns}, x.scale.high * std::sqrt(static_cast<double>(terms)));
  y.codes = maker.node(op, {x.codes, x.scale, x.zero, w, w_scale, w_zero, y.scale, y.zero}, y.codes);
  back(maker, y.codes, y.scale, y.zero);
}

void make_conv_on_codes(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 4, 4);
  const Window window = some_window(maker, {x.codes.dims.begin() + 2, x.codes.dims.end()}, {});
  const int64_t outputs = maker.between(1, 4);
  Dims dims = {outputs, x.codes.dims[1]};
  dims.insert(dims.end(), window.kernel.begin(), window.kernel.end());
  const Known w = maker.weights(DType::i8, dims, -100, 100);
  const Attributes attributes = window.attributes(maker, maker.chance(0.5));
  Dims out = {x.codes.dims[0], outputs};
  out.insert(out.end(), window.out.begin(), window.out.end());
  if (op == "ConvInteger") {
    std::vector<Known> inputs = {x.codes, w};
    if (maker.chance(0.6)) inputs.push_back(x.zero);
    const double bound = 25500.0 * static_cast<double>(count_elements(dims));
    back(maker, maker.node(op, inputs, x.codes.with(out).with(DType::i32).between(-bound, bound), attributes));
    return;
  }
  const bool each = maker.chance(0.5);
  const Known w_scale = each ? maker.weights(DType::f32, {outputs}, 0.005, 0.02) : maker.scalar(0.01, DType::f32, {});
  const Known w_zero = each ? maker.contents(Tensor(DType::i8, {outputs}), 0, 0) : zero_point(maker, DType::i8, 0);
  Codes y = result_of(maker, x, out, x.scale.high * 2);
  std::vector<Known> inputs = {x.codes, x.scale, x.zero, w, w_scale, w_zero, y.scale, y.zero};
  if (maker.chance(0.5)) inputs.push_back(maker.weights(DType::i32, {outputs}, -500, 500));
  y.codes = maker.node(op, inputs, y.codes, attributes);
  back(maker, y.codes, y.scale, y.zero);
}

void make_qgemm(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 2, 2);
  const int64_t terms = x.codes.dims[1], columns = maker.between(1, 5);
  const bool turned = maker.chance(0.5);
  const Known w = maker.weights(DType::i8, turned ? Dims{columns, terms} : Dims{terms, columns}, -100, 100);
  const Known w_scale = maker.scalar(0.01, DType::f32, {}), w_zero = zero_point(maker, DType::i8, 0);
  Codes y = result_of(maker, x, {x.codes.dims[0], columns}, x.scale.high * 2);
  const Known bias = maker.chance(0.5) ? maker.weights(DType::i32, {columns}, -500, 500) : Maker::absent();
  Attributes attributes;
  if (turned) attributes["transB"] = int64_t{1};
  y.codes = maker.node(op, {x.codes, x.scale, x.zero, w, w_scale, w_zero, bias, y.scale, y.zero}, y.codes, attributes,
                       kMicrosoft);
  back(maker, y.codes, y.scale, y.zero);
}

void make_qlinear_add(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 1, 4);
  Codes y = result_of(maker, x, x.codes.dims, x.scale.high * 2);
  y.codes =
      maker.node(op, {x.codes, x.scale, x.zero, x.codes, x.scale, x.zero, y.scale, y.zero}, y.codes, {}, kMicrosoft);
  back(maker, y.codes, y.scale, y.zero);
}

void make_qlinear_concat(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 2, 4);
  Dims dims = x.codes.dims;
  dims[1] *= 2;
  Codes y = result_of(maker, x, dims, x.scale.high * 1.5);
  y.codes = maker.node(op, {y.scale, y.zero, x.codes, x.scale, x.zero, x.codes, x.scale, x.zero}, y.codes,
                       {{"axis", int64_t{1}}}, kMicrosoft);
  back(maker, y.codes, y.scale, y.zero);
}

void make_qlinear_function(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 1, 4);
  const bool is_sigmoid = op == "QLinearSigmoid";
  Codes y = result_of(maker, x, x.codes.dims, is_sigmoid ? 1.0 / 255 : x.scale.high);
  Attributes attributes;
  if (!is_sigmoid) attributes["alpha"] = maker.real(0.01, 0.5);
  y.codes = maker.node(op, {x.codes, x.scale, x.zero, y.scale, y.zero}, y.codes, attributes, kMicrosoft);
  back(maker, y.codes, y.scale, y.zero);
}

void make_qlinear_global(Maker& maker, std::string_view op) {
  const Codes x = quantized(maker, 4, 4);
  Codes y = result_of(maker, x, {x.codes.dims[0], x.codes.dims[1], 1, 1}, x.scale.high);
  y.codes =
      maker.node(op, {x.codes, x.scale, x.zero, y.scale, y.zero}, y.codes, {{"channels_last", int64_t{0}}}, kMicrosoft);
  back(maker, y.codes, y.scale, y.zero);
}

void make_nbits(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 3, is_full});
  constexpr int64_t kBlock = 16;
  const int64_t terms = x.dims.back(), columns = maker.between(1, 5), blocks = ceil_div(terms, kBlock);
  const Known codes = maker.weights(DType::u8, {columns, blocks, kBlock / 2}, 0, 255);
  const Known scales = maker.weights(DType::f32, {columns * blocks}, 0.01, 0.1);
  Dims dims = x.dims;
  dims.back() = columns;
  const double bound = std::max(std::abs(x.low), std::abs(x.high)) * static_cast<double>(terms);
  maker.node(op, {x, codes, scales}, x.with(dims).between(-bound, bound),
             {{"K", terms}, {"N", columns}, {"bits", int64_t{4}}, {"block_size", kBlock}}, kMicrosoft);
}

void make_quant(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1, 4});
  const Known scale = maker.scalar(maker.real(0.05, 0.3), DType::f32, {}), zero = maker.scalar(0, DType::f32, {});
  const Known bits = maker.scalar(static_cast<double>(maker.between(2, 8)), DType::f32, {});
  maker.node(op, {x, scale, zero, bits}, x, {{"signed", int64_t{1}}, {"narrow", int64_t{maker.chance(0.5)}}},
             "qonnx.custom_op.general");
}

}  // namespace

Recipes code_recipes() {
  return {{"QuantizeLinear", make_quantize, Home::floats, 10},
          {"DequantizeLinear", make_quantize, Home::floats, 10},
          {"DynamicQuantizeLinear", make_dynamic, Home::floats, 11},
          {"MatMulInteger", make_matmul_integer, Home::floats, 10},
          {"QLinearMatMul", make_qlinear_matmul, Home::floats, 10},
          {"ConvInteger", make_conv_on_codes, Home::floats, 10},
          {"QLinearConv", make_conv_on_codes, Home::floats, 10},
          {"QGemm", make_qgemm, Home::floats, 10, kForever, kMicrosoft},
          {"QLinearAdd", make_qlinear_add, Home::floats, 10, kForever, kMicrosoft},
          {"QLinearConcat", make_qlinear_concat, Home::floats, 10, kForever, kMicrosoft},
          {"QLinearLeakyRelu", make_qlinear_function, Home::floats, 10, kForever, kMicrosoft},
          {"QLinearSigmoid", make_qlinear_function, Home::floats, 10, kForever, kMicrosoft},
          {"QLinearGlobalAveragePool", make_qlinear_global, Home::floats, 10, kForever, kMicrosoft},
          {"MatMulNBits", make_nbits, Home::floats, 10, kForever, kMicrosoft},
          {"Quant", make_quant, Home::floats, 10, kForever, "qonnx.custom_op.general"}};
}

}  // namespace halfstep::fuzz
