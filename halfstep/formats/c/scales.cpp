#include "halfstep/formats/c/scales.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::formats::c {
namespace {

/// Factors of power_of_two are written as 2^30, so their shifts increase by this.
constexpr int64_t kPowerBits = 30;
/// Maximum groups of convolutions that oneDNN supports in the engine x86.
constexpr int64_t kMostGroups = 100;

std::string form_of(Op op) {
  return op.info().attribute("requantize") != nullptr ? get<std::string>(op.attributes(), "requantize") : "fixed_point";
}
int64_t whole(Op op, const char* name) { return get<int64_t>(op.attributes(), name); }
float real(Op op, const char* name) { return static_cast<float>(get<double>(op.attributes(), name)); }
Value operand(Op op, const char* port) { return op.in(op.info().input(port)); }

/// Returns the elements of an operand of a layer, one for each channel.
template <class To, class From>
std::vector<To> by_channel(Body& body, Op op, const char* port) {
  const auto values = body.contents(operand(op, port)).data<From>();
  std::vector<To> result(values.begin(), values.end());
  if (result.size() == 1) result.resize(static_cast<size_t>(op.out(0).dims()[1]), result[0]);
  return result;
}

std::string rounding_of(Op op) { return get<std::string>(op.attributes(), "shift_rounding"); }

/// Returns the function that multiplies and shifts if the product has more than 64 bits.
std::string parts_function(Body& body, Op op) {
  Words words = {{"rounding", rounding_of(op)}, {"shift", shift_function(body, op)}};
  words["shifted"] = rounding_of(op) == "doubled" ? "bits > 31 ? shift_half_away(shift_half_up(upper, 15), bits - 31)\n"
                                                    "                     : shift_half_up(upper, bits - 16)"
                                                  : words["shift"] + "(upper, bits - 16)";
  body.kernels.use("scalar/parts", words);
  return "parts_" + rounding_of(op);
}

/// Writes the struct of a form, its function and one constant of it.
class ScaleWriter {
 public:
  /// `has_parts`: sums need 64 bits, and their products more.
  ScaleWriter(Body& body, Op op, const std::string& form, bool is_wide, bool has_parts = false)
      : body_(body), op_(op), has_parts_(has_parts) {
    scale_.sum = is_wide ? "int64_t" : "int32_t";
    const std::string name = form + (has_parts ? "_parts" : is_wide ? "_wide" : "");
    scale_.type = "scale_" + name;
    scale_.code = "code_" + name;
  }

  void field(const std::string& declaration, const std::string& name, const std::string& value, size_t bytes) {
    fields_ += "    " + declaration + ";\n";
    values_ += "." + name + " = " + value + ", ";
    bytes_ += bytes;
  }
  void whole_array(const std::string& type, const std::string& name, const std::vector<int64_t>& values, size_t each) {
    field("const " + type + " *" + name, name, body_.numbers(name_of(op_.name(), name), type, values, each), 4);
    scale_.tables.push_back({type, name});
  }
  void real_array(const std::string& name, const std::vector<float>& values) {
    field("const float *" + name, name, body_.numbers(name_of(op_.name(), name), values), 4);
    scale_.tables.push_back({"float", name});
  }

  Scale fixed(const std::string& what, const std::string& pick) {
    Words words = words_of(what);
    words["pick"] = pick;
    words["shifted"] = has_parts_ ? parts_function(body_, op_) + "(sum, factor, bits)"
                                  : shift_function(body_, op_) + "((int64_t)sum * factor, bits)";
    body_.kernels.use("scalar/fixed_scale", words);
    return finish();
  }
  Scale in_float(const std::string& what, const std::string& steps) {
    body_.uses_floats = true;
    Words words = words_of(what);
    words["steps"] = steps;
    body_.kernels.use("scalar/nearest");
    body_.kernels.use("scalar/float_scale", words);
    return finish();
  }

 private:
  Words words_of(const std::string& what) {
    Words words = scale_.words();
    words["what"] = what;
    words["fields"] = fields_;
    return words;
  }
  Scale finish() {
    scale_.object = "&" + body_.object(name_of(op_.name(), "q"), scale_.type, values_ + clamp_text(op_), bytes_ + 16);
    return scale_;
  }

  Body& body_;
  Op op_;
  bool has_parts_ = false;
  Scale scale_;
  std::string fields_, values_;
  size_t bytes_ = 0;
};

Scale fixed_layer(Body& body, Op op) {
  const bool powers = form_of(op) == "power_of_two";
  const Value negative_shift = operand(op, "negative_shift");
  std::string form = powers ? "power_" : "fixed_";
  if (negative_shift) form += "leaky_";
  ScaleWriter writer(body, op, form + rounding_of(op), false);
  std::string factor = "1073741824", bits = "q->shift[channel]";
  const auto shifts = [&](const char* port) {
    std::vector<int64_t> values = by_channel<int64_t, int32_t>(body, op, port);
    if (powers) {
      for (int64_t& value : values) value += kPowerBits;
    }
    writer.whole_array("uint8_t", port, values, 1);
  };
  shifts("shift");
  if (negative_shift) {
    shifts("negative_shift");
    bits = "sum < 0 ? q->negative_shift[channel] : q->shift[channel]";
  }
  if (!powers) {
    writer.whole_array("int32_t", "multiplier", by_channel<int64_t, int32_t>(body, op, "multiplier"), 4);
    factor = "q->multiplier[channel]";
    if (negative_shift) {
      writer.whole_array("int32_t", "negative_multiplier",
                         by_channel<int64_t, int32_t>(body, op, "negative_multiplier"), 4);
      factor = "sum < 0 ? q->negative_multiplier[channel] : q->multiplier[channel]";
    }
  }
  return writer.fixed(powers ? "times 2^30, and shifted to the right" : "times a factor, and shifted to the right",
                      "    const int32_t factor = " + factor + ";\n    const int32_t bits = " + bits + ";\n");
}

constexpr const char* kRounded = "    const int32_t code = nearest(steps) + q->zero_point;\n";
constexpr const char* kPlaced =
    "    const float placed = steps + (float)q->zero_point;\n    const int32_t code = nearest(placed);\n";

Scale factor_layer(Body& body, Op op, const std::vector<float>& w_scales) {
  ScaleWriter writer(body, op, "float32", false);
  std::vector<float> factors;
  for (const float w : w_scales) {
    const float product = real(op, "x_scale") * w;
    factors.push_back(product / real(op, "y_scale"));
  }
  writer.real_array("factor", factors);
  return writer.in_float("times a factor",
                         std::string("    const float steps = whole * q->factor[channel];\n") + kRounded);
}

Scale fbgemm_layer(Body& body, Op op, const std::vector<float>& w_scales, const std::vector<float>& biases) {
  ScaleWriter writer(body, op, "fbgemm", false);
  std::vector<float> factors, steps;
  for (const float w : w_scales) {
    const float scale = real(op, "x_scale") * w;
    factors.push_back(scale / real(op, "y_scale"));
  }
  for (size_t c = 0; c < biases.size(); ++c) {
    const float scale = real(op, "x_scale") * w_scales[c];
    steps.push_back(biases[c] / scale);
  }
  writer.real_array("bias", steps);
  writer.real_array("factor", factors);
  return writer.in_float("the bias of the channel, times a factor, as in FBGEMM",
                         std::string("    const float raised = whole + q->bias[channel];\n"
                                     "    const float steps = raised * q->factor[channel];\n") +
                             kRounded);
}

Scale onednn_layer(Body& body, Op op, const std::vector<float>& w_scales, const std::vector<float>& biases,
                   bool is_depthwise) {
  ScaleWriter writer(body, op, is_depthwise ? "onednn_depthwise" : "onednn", false);
  const float inverse = 1.0F / real(op, "x_scale");
  const float x = 1.0F / inverse, factor = 1.0F / real(op, "y_scale");
  std::vector<float> scales = w_scales;
  for (float& scale : scales) scale = is_depthwise ? scale : x * scale;
  writer.real_array("scale", scales);
  writer.real_array("bias", biases);
  if (is_depthwise) writer.field("float x_scale", "x_scale", c_number(x), 4);
  writer.field("float factor", "factor", c_number(factor), 4);
  const std::string scaled = is_depthwise
                                 ? "    const float sized = whole * q->x_scale;\n    const float scaled = sized * "
                                   "q->scale[channel];\n"
                                 : "    const float scaled = whole * q->scale[channel];\n";
  return writer.in_float("times a scale, the bias of the channel, times a factor, as in oneDNN",
                         scaled +
                             "    const float raised = scaled + q->bias[channel];\n"
                             "    const float steps = raised * q->factor;\n" +
                             kPlaced);
}

}  // namespace

bool scales_in_float(Op op) {
  const std::string form = form_of(op);
  return form != "fixed_point" && form != "power_of_two";
}
bool is_engine(Op op) { return form_of(op) == "fbgemm" || form_of(op) == "x86"; }

std::string clamp_text(Op op) {
  return fmt::format(".zero_point = {}, .low = {}, .high = {}", whole(op, "y_zero_point"), whole(op, "code_min"),
                     whole(op, "code_max"));
}

std::string shift_function(Body& body, Op op) {
  std::string name = "shift_" + rounding_of(op);
  if (rounding_of(op) == "doubled") {
    body.kernels.use("scalar/shift_half_up");
    body.kernels.use("scalar/shift_half_away");
  }
  body.kernels.use("scalar/" + name);
  return name;
}

Scale layer_scale(Body& body, Op op) {
  if (!scales_in_float(op)) return fixed_layer(body, op);
  const std::vector<float> w_scales = by_channel<float, float>(body, op, "w_scale");
  if (!is_engine(op)) return factor_layer(body, op, w_scales);
  const std::vector<float> biases = by_channel<float, float>(body, op, "b");
  if (form_of(op) == "fbgemm" || !op.is<ops::IntegerConv2d>()) return fbgemm_layer(body, op, w_scales, biases);
  const ops::IntegerConv2d conv(op.node());
  if (conv.groups() > kMostGroups) return fbgemm_layer(body, op, w_scales, biases);
  const Dims& w = conv.w().dims();
  return onednn_layer(body, op, w_scales, biases, conv.groups() > 1 && w[1] == 1 && w[0] == conv.groups());
}

Scale plain_scale(Body& body, Op op, const StoredFactors& factors, bool is_wide, int64_t most) {
  if (!factors.factors.empty()) {
    ScaleWriter writer(body, op, factors.zero_inside ? "float32_inside" : "float32", false);
    writer.real_array("factor", factors.factors);
    return writer.in_float(
        factors.zero_inside ? "times a factor, the zero point inside the rounding" : "times a factor",
        std::string("    const float steps = whole * q->factor[channel];\n") +
            (factors.zero_inside ? kPlaced : kRounded));
  }
  const int64_t largest = std::max<int64_t>(1, *std::ranges::max_element(factors.multipliers));
  ScaleWriter writer(body, op, "fixed_" + rounding_of(op), is_wide, most > INT64_MAX / largest);
  writer.whole_array("uint8_t", "shift", factors.shifts, 1);
  writer.whole_array("int32_t", "multiplier", factors.multipliers, 4);
  return writer.fixed(
      "times a factor, and shifted to the right",
      "    const int32_t factor = q->multiplier[channel];\n    const int32_t bits = q->shift[channel];\n");
}

Scale shifted_scale(Body& body, Op op) {
  ScaleWriter writer(body, op, "shifted_" + rounding_of(op), true);
  writer.field("int32_t shift", "shift", c_number(whole(op, "shift")), 4);
  return writer.fixed("shifted to the right", "    const int32_t factor = 1, bits = q->shift;\n    (void)channel;\n");
}

int64_t largest_magnitude(Value operand, int64_t zero_point) {
  const auto [low, high] = whole_range(operand.dtype());
  return std::max(std::abs(static_cast<int64_t>(low) - zero_point), std::abs(static_cast<int64_t>(high) - zero_point));
}

}  // namespace halfstep::formats::c
