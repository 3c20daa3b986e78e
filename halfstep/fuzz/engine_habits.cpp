#include "halfstep/fuzz/engine_habits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/machine/cpu.h"

namespace halfstep::fuzz {
namespace {

using Operators = std::set<std::string>;

const Operators kApproximated = {"GRU", "LSTM", "RNN", "Sigmoid", "Tanh"};
constexpr double kApproximation = 0x1p-22;  ///< twice the error of its polynomials
const Operators kShowing = {"Acos",  "Acosh",       "Asin", "Atanh",          "Ceil",       "DynamicQuantizeLinear",
                            "Floor", "LessOrEqual", "Log",  "QuantizeLinear", "Reciprocal", "ReduceLogSum",
                            "Sign",  "Sqrt"};
const Operators kChoosing = {"ArgMax",         "ArgMin", "Ceil", "DynamicQuantizeLinear", "Floor", "Hardmax", "Round",
                             "QuantizeLinear", "Sign",   "TopK"};
const Operators kArguments = {"ArgMax", "ArgMin", "TopK"};  ///< results are positions of elements
const Operators kPartial = {"Acos", "Acosh", "Asin", "Atanh", "AveragePool", "Div", "Log", "MeanVarianceNormalization",
                            "Pow",  "Sqrt"};

const Operators kMaxima = {"GlobalMaxPool", "MaxPool"};
const Operators kRecurrent = {"GRU", "LSTM", "RNN"};
/// Operators whose variance is the mean of squares minus the square of the mean.
const Operators kOfSquares = {"GroupNormalization"};
constexpr double kLostBySquares = 0x1p-12;  ///< relative error of a result if the mean is about fifty times the
                                            ///< deviation
/// Operators that compute f64 activations with the precision of f32.
const Operators kInFloat = {"Celu", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Selu", "Shrink"};
const Operators kOnBytes = {"ConvInteger", "MatMulInteger", "QGemm", "QLinearConv", "QLinearMatMul"};

bool share(const Operators& a, const Operators& b) {
  return std::ranges::any_of(a, [&](const std::string& op) { return b.contains(op); });
}

bool has_real(const Tensors& tensors, bool (*is_meant)(double)) {
  return std::ranges::any_of(tensors, [&](const auto& entry) {
    const Tensor& tensor = entry.second;
    for (int64_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
      if (is_meant(element(tensor, i))) return true;
    }
    return false;
  });
}

bool has_nan(const Tensors& tensors) {
  return has_real(tensors, [](double real) { return std::isnan(real); });
}

bool has_no_number(const Tensors& tensors) {
  return has_real(tensors, [](double real) { return !std::isfinite(real); });
}

bool has_lowest(const Tensors& tensors) {
  return has_real(tensors, [](double real) { return real == -double{std::numeric_limits<float>::max()}; });
}

bool has_last_of_i32(const Tensors& tensors) {
  return std::ranges::any_of(tensors, [](const auto& entry) {
    if (entry.second.dtype() != DType::i32) return false;
    const auto numbers = entry.second.template data<int32_t>();
    return std::ranges::find(numbers, std::numeric_limits<int32_t>::max()) != numbers.end();
  });
}

/// Whether the network uses the positions of maxima.
bool reads_places(const Network& network) {
  return std::ranges::any_of(network.model.graph().node(), [](const auto& node) {
    return node.op_type() == "MaxPool" && node.output_size() > 1 && !node.output(1).empty();
  });
}

/// Whether a batch norm has a computed variance, which may be negative.
bool has_computed_variance(const Network& network) {
  const auto& graph = network.model.graph();
  return std::ranges::any_of(graph.node(), [&](const auto& node) {
    return node.op_type() == "BatchNormalization" && node.input_size() > 4 &&
           std::ranges::none_of(graph.initializer(), [&](const auto& one) { return one.name() == node.input(4); });
  });
}

Tensors those_of(Tensors tensors, bool (*is_meant)(DType)) {
  std::erase_if(tensors, [&](const auto& entry) { return !is_meant(entry.second.dtype()); });
  return tensors;
}

/// The largest magnitude of the floats, at least 1.
double largest_magnitude(const Tensors& tensors) {
  double largest = 1;
  for (const auto& [name, tensor] : tensors) {
    for (int64_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i)
      largest = std::max(largest, std::abs(element(tensor, i)));
  }
  return largest;
}

/// Infinite if only one of two numbers is NaN or infinite.
double largest_difference(const Tensors& found, const Tensors& engine) {
  double largest = 0;
  for (const auto& [name, tensor] : found) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double ours = element(tensor, i), theirs = element(engine.at(name), i);
      if (ours == theirs || (std::isnan(ours) && std::isnan(theirs))) continue;
      const double apart = std::abs(ours - theirs);
      largest = std::max(largest, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
    }
  }
  return largest;
}

/// Whether all values of `found` are slightly smaller in magnitude. This is the effect of adding 1e-9 to a deviation,
/// as ONNX specifies, if the deviation is about 1e-7 or more.
bool is_slightly_smaller(const Tensors& found, const Tensors& engine) {
  constexpr double kSmallest = 1 - 0x1p-6, kRounded = 0x1p-20;
  return std::ranges::all_of(found, [&](const auto& entry) {
    const Tensor &ours = entry.second, &theirs = engine.at(entry.first);
    for (int64_t i = 0; is_float(ours.dtype()) && i < ours.size(); ++i) {
      const double a = element(ours, i), b = element(theirs, i), least = kSmallest * std::abs(b);
      const bool is_same = std::abs(a - b) <= kRounded * std::max(1.0, std::abs(b));
      if (!is_same && (a * b < 0 || std::abs(a) > std::abs(b) || std::abs(a) < least)) return false;
    }
    return true;
  });
}

}  // namespace

bool engine_saturates() { return detected_cpu_level() < CpuLevel::vnni; }

std::string engine_habit(const Network& network, const Tensors& found, const Tensors& engine) {
  const Operators operators = operators_of(network.model.graph());
  if (engine_saturates() && share(operators, kOnBytes)) return "its sums of products of bytes saturate without VNNI";
  if (share(operators, kApproximated) && share(operators, kShowing))
    return "a rounding, logarithm or atanh shows onnxruntime's sigmoid or tanh";
  const double behind = largest_magnitude(network.inputs);  // bound of a factor of a sigmoid or tanh
  if (share(operators, kApproximated) && largest_difference(found, engine) <= kApproximation * behind)
    return "its sigmoid and tanh have this error at any magnitude";
  if (operators.contains("MeanVarianceNormalization") && share(operators, kChoosing))
    return "a choice shows how the normalization of equal numbers is rounded";
  if (operators.contains("MeanVarianceNormalization") && is_slightly_smaller(found, engine))
    return "its MeanVarianceNormalization adds nothing to the deviation";
  const double of_squares = std::max(kApproximation * behind * behind, kLostBySquares * largest_magnitude(found));
  if (share(operators, kOfSquares) && largest_difference(found, engine) <= of_squares)
    return "its GroupNormalization loses rounding errors of squares";
  if (has_last_of_i32(engine)) return "its sums and products of more than 32 bits saturate";
  const Tensors doubles = those_of(found, [](DType dtype) { return dtype == DType::f64; });
  if (share(operators, kInFloat) && !doubles.empty() && largest_difference(doubles, engine) <= kApproximation * behind)
    return "its activations use f32 values for doubles";
  if (operators.contains("Resize") && (has_no_number(found) || has_no_number(engine)))
    return "its interpolation skips elements of weight 0";
  if (share(operators, kRecurrent) && has_nan(found)) return "its recurrent cells clip NaN";
  if (share(operators, kMaxima) && has_no_number(found))
    return "its maxima skip NaN in some places, and the maximum of no elements is the lowest finite number";
  const bool makes_nan = share(operators, kPartial) || operators.contains("BitCast");
  const bool chooses_of_nan = makes_nan && share(operators, kArguments);
  if ((reads_places(network) || chooses_of_nan) &&
      largest_difference(those_of(found, is_float), engine) <= kApproximation * behind)
    return "its maxima of no elements, of NaN, and of values that rounding orders are at other positions";
  if (operators.contains("Hardmax") && has_computed_variance(network)) return "its Hardmax takes NaN for the largest";
  if (has_lowest(engine)) return "its maxima of no elements are the lowest finite number";
  if (share(operators, kPartial) && (has_nan(found) || has_nan(engine))) return "NaN outside a function's domain";
  return "";
}

namespace {

double nearest(const std::string& mode, double place) {
  if (mode == "floor") return std::floor(place);
  if (mode == "ceil") return std::ceil(place);
  return mode == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
}

/// Whether positions along an axis of these extents are rounded, for positions at the centre or at the start of
/// elements.
bool rounds_along(const std::string& mode, bool by_middle, int64_t in, int64_t out) {
  const float shift = by_middle ? 0.5F : 0, scale = static_cast<float>(out) / static_cast<float>(in);
  for (int64_t i = 0; i < out; ++i) {
    const double middle = static_cast<double>(i) + double{shift};
    const double exact = middle * static_cast<double>(in) / static_cast<double>(out) - double{shift};
    const float rounded = (static_cast<float>(i) + shift) / scale - shift;
    if (nearest(mode, exact) != nearest(mode, double{rounded})) return true;
  }
  return false;
}

}  // namespace

bool rounds_places(const Graph& graph) {
  return std::ranges::any_of(graph.all<ops::Resize>(), [](const ops::Resize& resize) {
    const Dims &in = resize.x().dims(), &out = resize.out().dims();
    const bool by_middle = resize.coordinates() == "half_pixel" || resize.coordinates() == "pytorch_half_pixel";
    if (resize.mode() != "nearest" || !(by_middle || resize.coordinates() == "asymmetric")) return false;
    for (size_t axis = 0; axis < in.size(); ++axis) {
      if (rounds_along(resize.nearest_mode(), by_middle, in[axis], out[axis])) return true;
    }
    return false;
  });
}

}  // namespace halfstep::fuzz
