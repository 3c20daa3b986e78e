#include "halfstep/passes/canonical/quantizer_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "halfstep/core/base/channel_elements.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// A quantizer that was found.
struct FoundQuantizer {
  Value x, result;
  std::vector<double> scale = {}, zero_point = {};  ///< one, or one for each element of the axis
  int64_t axis = -1;
  double code_min = -kUnbounded, code_max = kUnbounded;
};

std::vector<double> elements_of(const Model& model, Value tensor) {
  const Tensor& contents = model.tensors.at(tensor.name());
  std::vector<double> elements;
  for (int64_t i = 0; i < contents.size(); ++i) elements.push_back(element(contents, i));
  return elements;
}

/// The only number that all elements of a stored operand have.
std::optional<double> number_of(const Model& model, Value value) {
  if (!value || !value.is_tensor()) return std::nullopt;
  const std::vector<double> elements = elements_of(model, value);
  const bool is_one = !elements.empty() && std::ranges::all_of(elements, [&](double e) { return e == elements[0]; });
  return is_one ? std::optional(elements[0]) : std::nullopt;
}

/// The axis of x along which a tensor has its elements: -1 for a single element. Nothing for several axes.
std::optional<int64_t> single_axis_of(Value tensor, Value x) {
  const auto missing = static_cast<int64_t>(x.dims().size()) - static_cast<int64_t>(tensor.dims().size());
  int64_t axis = -1;
  for (size_t i = 0; i < tensor.dims().size(); ++i) {
    if (tensor.dims()[i] == 1) continue;
    if (axis >= 0 || missing < 0) return std::nullopt;
    axis = static_cast<int64_t>(i) + missing;
  }
  return axis;
}

/// A value and the bounds that an operator clamps it to.
struct Clamp {
  Value of;
  double lowest = -kUnbounded, highest = kUnbounded;
};

/// The larger or the smaller one of a value and a stored number.
std::optional<Clamp> limit_of(const Model& model, Op op) {
  const std::vector<Value> operands = op.variadic();
  if (operands.size() != 2) return std::nullopt;
  const auto a = number_of(model, operands[0]), b = number_of(model, operands[1]);
  if (a.has_value() == b.has_value()) return std::nullopt;
  Clamp clamp{a ? operands[1] : operands[0]};
  (op.is<ops::MaxOf>() ? clamp.lowest : clamp.highest) = a ? *a : *b;
  return clamp;
}

/// Nothing for operators that do not clamp, and for computed bounds.
std::optional<Clamp> clamp_of(const Model& model, Op op) {
  if (op.is<ops::MaxOf, ops::MinOf>()) return limit_of(model, op);
  if (op.is<ops::Relu>()) return Clamp{op.in(0), 0};
  if (op.is<ops::Relu6>()) return Clamp{op.in(0), 0, 6};
  if (op.is<ops::HardTanh>()) return Clamp{op.in(0), ops::HardTanh(op.node()).alpha(), ops::HardTanh(op.node()).beta()};
  if (!op.is<ops::Clip>()) return std::nullopt;
  Clamp clamp{op.in(0)};
  for (const auto& [value, bound] : {std::pair(op.in(1), &clamp.lowest), std::pair(op.in(2), &clamp.highest)}) {
    const auto number = number_of(model, value);
    if (value && !number) return std::nullopt;
    if (number) *bound = *number;
  }
  return clamp;
}

/// Follows the arithmetic of one quantizer, from a rounding backwards to x and forwards to the result.
class Arithmetic {
 public:
  Arithmetic(const Model& model, Op round) : model_(model), round_(round) {}

  std::optional<FoundQuantizer> match() {
    if (!find_x() || !find_result()) return std::nullopt;
    if (!std::isfinite(found_.code_min) || !std::isfinite(found_.code_max)) return std::nullopt;
    found_.code_min = std::ceil(found_.code_min);
    found_.code_max = std::floor(found_.code_max);
    found_.zero_point.assign(found_.scale.size(), std::nearbyint(zero_));
    return found_;
  }

 private:
  /// Bounds of a value x / scale + offset_, as codes with the zero point zero_.
  void clamp(const Clamp& bounds) {
    if (!has_bounds_) zero_ = offset_;
    has_bounds_ = true;
    found_.code_min = std::max(found_.code_min, bounds.lowest - offset_ + zero_);
    found_.code_max = std::min(found_.code_max, bounds.highest - offset_ + zero_);
  }

  /// Walks from the rounding to the division. Sums before the rounding count for bounds behind them.
  bool find_x() {
    std::vector<Clamp> bounds;
    std::vector<double> offsets;  // added behind each of the bounds
    double offset = 0;
    for (Value value = round_.in(0);;) {
      const Op op = value.producer();
      if (!op) return false;
      if (const auto clamps = clamp_of(model_, op)) {
        bounds.push_back(*clamps);
        offsets.push_back(offset);
        value = clamps->of;
      } else if (const auto added = sum_of(op)) {
        offset += added->second;
        value = added->first;
      } else {
        if (!take_scale(op)) return false;
        break;
      }
    }
    for (size_t i = 0; i < bounds.size(); ++i) {
      offset_ = offset - offsets[i];
      clamp(bounds[i]);
    }
    offset_ = offset;
    return true;
  }

  /// The value and the stored number of a sum or difference.
  std::optional<std::pair<Value, double>> sum_of(Op op) const {
    if (!op.is<ops::Add, ops::Sub>()) return std::nullopt;
    if (const auto b = number_of(model_, op.in(1))) return std::pair(op.in(0), op.is<ops::Sub>() ? -*b : *b);
    if (!op.is<ops::Add>()) return std::nullopt;
    const auto a = number_of(model_, op.in(0));
    return a ? std::optional(std::pair(op.in(1), *a)) : std::nullopt;
  }

  /// Stored factors of a product, in the order of one axis of the other operand.
  std::optional<std::pair<Value, Value>> factor_of(Op op) const {
    if (op.is<ops::Mul, ops::Div>() && op.in(1).is_tensor()) return std::pair(op.in(0), op.in(1));
    if (op.is<ops::Mul>() && op.in(0).is_tensor()) return std::pair(op.in(1), op.in(0));
    return std::nullopt;
  }

  bool take_scale(Op op) {
    const auto factor = factor_of(op);
    if (!factor) return false;
    const auto axis = single_axis_of(factor->second, factor->first);
    if (!axis) return false;
    found_.x = factor->first;
    found_.axis = *axis;
    found_.scale = elements_of(model_, factor->second);
    if (op.is<ops::Mul>()) std::ranges::transform(found_.scale, found_.scale.begin(), [](double s) { return 1 / s; });
    return std::ranges::all_of(found_.scale, [](double s) { return s > 0 && std::isfinite(s); });
  }

  bool find_result() {
    for (Value value = round_.out(0);;) {
      value = behind_estimator(value, round_.in(0));
      if (!value.has_one_use()) return false;
      const Op op = value.uses().front().first;
      if (const auto clamps = clamp_of(model_, op)) {
        clamp(*clamps);
      } else if (const auto added = sum_of(op)) {
        offset_ += added->second;
      } else {
        const auto factor = factor_of(op);
        if (!factor || !op.is<ops::Mul>() || !is_scale(factor->second) || offset_ != 0) return false;
        found_.result = behind_estimator(op.out(0), found_.x);
        return true;
      }
      value = op.out(0);
    }
  }

  bool is_scale(Value factor) const {
    constexpr double kRounding = 0x1p-20;
    const std::vector<double> scale = elements_of(model_, factor);
    return std::ranges::equal(scale, found_.scale,
                              [](double a, double b) { return std::abs(a - b) <= kRounding * std::abs(b); });
  }

  /// For y: the result of (y - x) + x, which has the value of y and the gradient of x. Else y itself.
  static Value behind_estimator(Value y, Value x) {
    for (const auto& [difference, operand] : y.uses()) {
      if (!difference.is<ops::Sub>() || operand != 0 || difference.in(1) != x) continue;
      const Value part = difference.out(0);
      if (!part.has_one_use()) continue;
      const Op sum = part.uses().front().first;
      if (sum.is<ops::Add>() && (sum.in(0) == x || sum.in(1) == x)) return sum.out(0);
    }
    return y;
  }

  const Model& model_;
  const Op round_;
  FoundQuantizer found_;
  double offset_ = 0;  ///< added to x / scale so far
  double zero_ = 0;    ///< offset of the codes
  bool has_bounds_ = false;
};

/// Scale, zero point and axis of an operator of ONNX. Nothing for blocks and computed numbers.
std::optional<FoundQuantizer> numbers_of(const Model& model, Op op, Value of) {
  const Value scale = op.in(1), zero = op.in(2);
  if (get<int64_t>(op.attributes(), "block_size") > 0 || !scale.is_tensor() || (zero && !zero.is_tensor()))
    return std::nullopt;
  FoundQuantizer found;
  found.scale = elements_of(model, scale);
  found.zero_point = zero ? elements_of(model, zero) : std::vector<double>(found.scale.size(), 0.0);
  const int64_t axis = get<int64_t>(op.attributes(), "axis");
  if (found.scale.size() != 1) found.axis = axis < 0 ? axis + static_cast<int64_t>(of.dims().size()) : axis;
  if (is_float(of.dtype())) return std::nullopt;
  std::tie(found.code_min, found.code_max) = whole_range(of.dtype());
  return found;
}

/// Applies clamps of codes, back to the first value that is no result of a clamp.
Value before_clamps(const Model& model, Value codes, FoundQuantizer& found) {
  while (codes.producer()) {
    const auto clamp = clamp_of(model, codes.producer());
    if (!clamp) break;
    found.code_min = std::max(found.code_min, clamp->lowest);
    found.code_max = std::min(found.code_max, clamp->highest);
    codes = clamp->of;
  }
  return codes;
}

/// The values of stored codes.
Tensor values_of(const Tensor& codes, const FoundQuantizer& found) {
  Tensor values(DType::f32, codes.dims());
  const auto made = values.data<float>();
  for_each_element(codes.dims(), found.axis, [&](size_t i, size_t c) {
    const double code = std::clamp(element(codes, static_cast<int64_t>(i)), found.code_min, found.code_max);
    made[i] = static_cast<float>(code - found.zero_point[c]) * static_cast<float>(found.scale[c]);
  });
  return values;
}

/// A pair of ONNX's operators, or stored codes, which become a tensor of values.
std::optional<FoundQuantizer> match_pair(Model& model, Op dequantize) {
  const Value read = dequantize.in(0);
  auto found = numbers_of(model, dequantize, read);
  if (!found || dequantize.out(0).dtype() != DType::f32) return std::nullopt;
  const Value codes = before_clamps(model, read, *found);
  found->result = dequantize.out(0);
  if (codes.is_tensor()) {
    const Tensor values = values_of(model.tensors.at(codes.name()), *found);
    found->x = add_tensor(model, dequantize.name(), values, Role::parameter);
    return found;
  }
  const Op quantize = codes.producer();
  if (!quantize || !quantize.is<ops::OnnxQuantizeLinear>()) return std::nullopt;
  const auto same = numbers_of(model, quantize, codes);
  if (!same || same->scale != found->scale || same->zero_point != found->zero_point) return std::nullopt;
  found->x = quantize.in(0);
  return found;
}

template <class T>
Value add_numbers(Model& model, const std::string& name, DType dtype, const std::vector<double>& numbers) {
  Tensor tensor(dtype, {static_cast<int64_t>(numbers.size())});
  std::ranges::transform(numbers, tensor.data<T>().begin(), [](double number) { return static_cast<T>(number); });
  return add_tensor(model, name, std::move(tensor), Role::constant);
}

Value quantizer_of(Model& model, const FoundQuantizer& found) {
  Builder builder = Builder::before(model.graph, found.result.producer());
  const std::string name = found.result.producer().name();
  const Value scale = add_numbers<float>(model, name + ".scale", DType::f32, found.scale);
  const Value zero = add_numbers<int32_t>(model, name + ".zero_point", DType::i32, found.zero_point);
  const auto code_min = static_cast<int64_t>(found.code_min), code_max = static_cast<int64_t>(found.code_max);
  if (found.axis >= 0)
    return ops::fake_quantize_per_channel_affine(builder, {.x = found.x,
                                                           .scale = scale,
                                                           .zero_point = zero,
                                                           .axis = found.axis,
                                                           .quant_min = code_min,
                                                           .quant_max = code_max,
                                                           .name = name})
        .out();
  return ops::fake_quantize_per_tensor_affine_tensor_qparams(builder, {.x = found.x,
                                                                       .scale = scale,
                                                                       .zero_point = zero,
                                                                       .quant_min = code_min,
                                                                       .quant_max = code_max,
                                                                       .name = name})
      .out();
}

/// Replaces the result, whose operation gives its name to the quantizer.
void replace_form(Model& model, const FoundQuantizer& found) {
  constexpr double kMostCodes = 1 << 16;
  const Op last = found.result.producer();
  const bool has_codes = found.code_max > found.code_min && found.code_max - found.code_min < kMostCodes;
  const Value made = has_codes ? quantizer_of(model, found) : found.x;
  const std::string name = last.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
  found.result.replace_all_uses_with(made);
  model.graph.erase(last);
  if (has_codes) model.graph.rename(made.producer(), name);
}

}  // namespace

void quantizer_forms(Model& model) {
  size_t arithmetic = 0;
  bool has_any = false;
  for (const Op op : model.graph.ops()) {
    std::optional<FoundQuantizer> found;
    if (op.is<ops::Round>()) found = Arithmetic(model, op).match();
    if (op.is<ops::OnnxDequantizeLinear>()) found = match_pair(model, op);
    if (!found || found->x.type() != found->result.type()) continue;
    replace_form(model, *found);
    has_any = true;
    arithmetic += op.is<ops::Round>() ? 1 : 0;
  }
  auto& noted = model.metadata.quantizers_as_arithmetic;
  if (arithmetic >= noted.size()) noted.clear();
  if (has_any) dce(model);  // else a part of a form would be another form
}

}  // namespace halfstep::passes
