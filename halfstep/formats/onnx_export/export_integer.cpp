// Writes an integer program with operators of ONNX runtimes: operators on codes, or float operators between codes.
#include <array>
#include <cmath>
#include <numeric>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/table_origin.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/export_nodes.h"

namespace halfstep::formats::onnx {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";
/// int4 exists since this opset. int2 exists since 25 but is not used: onnxruntime 1.31 fuses it into a QLinearConv
/// that it then rejects.
constexpr int64_t kFourBits = 21;

/// Scale and zero point of the codes of a value.
struct Scale {
  float scale = 1.0F;
  int64_t zero_point = 0;
};

/// Returns m * 2^-shift in float32.
float ratio(int64_t m, int64_t shift) {
  return static_cast<float>(std::ldexp(static_cast<double>(m), -static_cast<int>(shift)));
}

/// Returns every input code of a table.
Tensor all_codes(const Tensor& table) {
  Tensor codes(DType::u8, table.dims());
  std::iota(codes.data<uint8_t>().begin(), codes.data<uint8_t>().end(), uint8_t{0});
  return codes;
}

Tensor code_of(int64_t value) {
  const auto narrow = static_cast<uint8_t>(value);
  return Tensor::of<uint8_t>(DType::u8, {}, {&narrow, 1});
}

/// Functions that ONNX has in float and com.microsoft on codes, computed there by the rule of one of Halfstep's
/// operators.
struct CodeFunction {
  const char *ours, *onnx, *on_codes;
};
constexpr std::array<CodeFunction, 2> kCodeFunctions = {
    {{"sigmoid", "Sigmoid", "qlinear_sigmoid"}, {"leaky_relu", "LeakyRelu", "qlinear_leaky_relu"}}};

/// Returns the requantization form of the operator.
const std::string& form_of(Op op) { return get<std::string>(op.attributes(), "requantize"); }

class IntegerExporter {
 public:
  IntegerExporter(NodeExporter& nodes, const ExportOptions& options) : nodes_(nodes), options_(options) {}

  std::vector<std::string> run() {
    nodes_.write_inner_by([this](Op op) { add(op); });
    for (const Op op : nodes_.model().graph.ops()) add(op);
    return std::move(approximated_);
  }

 private:
  GraphWriter& writer() { return nodes_.writer(); }
  bool as_floats() const { return options_.form == ExportForm::qdq; }

  void add(Op op) {
    if (op.is<ops::IntegerConv2d, ops::IntegerAvgPool2d>() &&
        get<std::string>(op.attributes(), "layout") != "channels_first")
      fail(errors::export_channels_last(op.where()));
    if (op.is<ops::Quantize>()) return add_quantize(ops::Quantize(op.node()));
    if (op.is<ops::Dequantize>()) return add_dequantize(ops::Dequantize(op.node()));
    if (op.is<ops::IntegerConv2d, ops::IntegerLinear>()) return add_layer(op);
    if (op.is<ops::IntegerAdd>()) return add_sum(ops::IntegerAdd(op.node()));
    if (op.is<ops::IntegerMul>()) return add_product(ops::IntegerMul(op.node()));
    if (op.is<ops::IntegerAvgPool2d>()) return add_pool(ops::IntegerAvgPool2d(op.node()));
    if (op.is<ops::IntegerRescale>()) return add_rescale(ops::IntegerRescale(op.node()));
    if (op.is<ops::IntegerLookup>()) return add_lookup(ops::IntegerLookup(op.node()));
    if (op.is<ops::MaxUnpool>() && !is_float(op.out(0).dtype()))
      fail(errors::no_onnx_form(op.where(), "max_unpool of codes", writer().opset()));  // ONNX's takes only floats
    const bool has_regions = op.info().flow != Flow::none;
    if (!has_regions && is_float(op.out(0).dtype()))
      approximate(op, "stays in float, where runtimes add in other orders", "");
    nodes_.add(op);  // moves codes, or is a float fallback
  }

  /// Reports that the form cannot express the operator exactly.
  void approximate(Op op, const std::string& computation,
                   const std::string& instead = ", or convert for onnxruntime_int8") {
    if (!options_.approximate) fail(errors::not_exact_in_form(op.where(), computation, instead));
    approximated_.push_back(op.name());
  }
  /// Whether the operator has scales. Without them accumulators are in steps of the result.
  bool has_scales(Op op) {
    if (form_of(op) == "float32") return true;
    approximate(op, "requantizes by " + form_of(op));
    return form_of(op) != "fixed_point" && form_of(op) != "power_of_two";
  }

  // ---- codes and scales

  std::string scalar(const std::string& hint, float value) {
    return writer().add_tensor(hint, Tensor::of<float>(DType::f32, {}, {&value, 1}));
  }
  std::string code(const std::string& hint, int64_t value) { return writer().add_tensor(hint, code_of(value)); }
  /// Appends scale and zero point in the order of ONNX's operators.
  void append(std::vector<std::string>& inputs, const std::string& hint, const Scale& scale) {
    inputs.push_back(scalar(hint + "_scale", scale.scale));
    inputs.push_back(code(hint + "_zero_point", scale.zero_point));
  }
  void append_codes(std::vector<std::string>& inputs, Op op, Value codes, const std::string& port, const Scale& scale) {
    inputs.push_back(nodes_.name(codes));
    append(inputs, op.name() + "." + port, scale);
  }

  static void require_u8(Op op, Value value) {
    if (value.dtype() != DType::u8) fail(errors::export_codes_not_u8(op.where(), halfstep::name(value.dtype())));
  }

  /// Returns the name for a node's codes, which use the full range of u8. If the operator's clamp is narrower, another
  /// node limits them. `emit(name)` makes the node.
  template <class Emit>
  void with_clamp(Op op, int64_t low, int64_t high, Emit&& emit) {
    require_u8(op, op.out(0));
    const std::string result = nodes_.name(op.out(0));
    if (low == 0 && high == 255) return emit(result);
    const std::string all = writer().unique(op.name() + ".unclamped");
    emit(all);
    const std::string clamp = op.name() + ".clamp";
    writer().add_node({"Clip", clamp, {all, code(clamp + ".min", low), code(clamp + ".max", high)}, {result}});
  }

  // ---- float values between codes, for the qdq form

  /// Inserts DequantizeLinear of codes, once for each value and scale.
  std::string real(Op op, Value codes, const std::string& port, const Scale& scale) {
    const auto key = std::pair(codes.node(), std::pair(scale.scale, scale.zero_point));
    if (const auto found = floats_.find(key); found != floats_.end()) return found->second;
    const std::string name = writer().unique(codes.name() + ".real");
    NodeText node{"DequantizeLinear", name, {}, {name}};
    append_codes(node.inputs, op, codes, port, scale);
    writer().add_node(node);
    return floats_[key] = name;
  }

  /// Adds a float node and quantizes its result.
  void add_float(Op op, NodeText node, const Scale& y, const std::string& codes) {
    const std::string result = writer().unique(op.name() + ".value");
    node.name = op.name();
    node.outputs = {result};
    writer().add_node(node);
    NodeText quantize{"QuantizeLinear", writer().unique(op.name() + ".codes"), {result}, {codes}};
    append(quantize.inputs, op.name() + ".y", y);
    writer().add_node(quantize);
  }

  // ---- inputs and outputs

  void add_quantize(const ops::Quantize& op) {
    if (op.method() != "divide" || op.rounding() != "half_even")
      approximate(op, "quantizes by " + op.method() + " and " + op.rounding());
    const Scale scale{nodes_.contents(op.scale()).data<float>()[0],
                      nodes_.contents(op.zero_point()).data<int32_t>()[0]};
    with_clamp(op, op.code_min(), op.code_max(), [&](const std::string& result) {
      NodeText node{"QuantizeLinear", op.name(), {nodes_.name(op.x())}, {result}};
      append(node.inputs, op.name(), scale);
      writer().add_node(node);
    });
  }

  void add_dequantize(const ops::Dequantize& op) {
    require_u8(op, op.x());
    const Scale scale{nodes_.contents(op.scale()).data<float>()[0],
                      nodes_.contents(op.zero_point()).data<int32_t>()[0]};
    NodeText node{"DequantizeLinear", op.name(), {}, {nodes_.name(op.out())}};
    append_codes(node.inputs, op, op.x(), "x", scale);
    writer().add_node(node);
  }

  // ---- layers with weights

  /// integer_conv2d or integer_linear, whose ports and attributes have the same names.
  struct Layer {
    Op op;
    Value x, w, b;
    Scale x_scale, y_scale;
    Tensor w_scale;
    int64_t code_min = 0, code_max = 255;
  };

  Value port(Op op, const char* port) const { return op.in(op.info().input(port)); }

  Layer layer_of(Op op) {
    const Attributes& all = op.attributes();
    Layer layer{op, port(op, "x"), port(op, "w"), port(op, "b"), {}, {}, {}};
    layer.x_scale.zero_point = get<int64_t>(all, "x_zero_point");
    layer.y_scale.zero_point = get<int64_t>(all, "y_zero_point");
    layer.code_min = get<int64_t>(all, "code_min");
    layer.code_max = get<int64_t>(all, "code_max");
    if (has_scales(op)) {
      layer.x_scale.scale = static_cast<float>(get<double>(all, "x_scale"));
      layer.y_scale.scale = static_cast<float>(get<double>(all, "y_scale"));
      layer.w_scale = nodes_.contents(port(op, "w_scale"));
    } else {
      layer.w_scale = integer_factors(op);
    }
    return layer;
  }

  /// Returns the factors of multipliers and shifts.
  Tensor integer_factors(Op op) const {
    if (port(op, "negative_shift")) fail(errors::export_leaky_layer(op.where()));
    const auto shift = nodes_.contents(port(op, "shift")).data<int32_t>();
    const Value multiplier = port(op, "multiplier");
    Tensor factors(DType::f32, {static_cast<int64_t>(shift.size())});
    for (size_t c = 0; c < shift.size(); ++c)
      factors.data<float>()[c] = ratio(multiplier ? nodes_.contents(multiplier).data<int32_t>()[c] : 1, shift[c]);
    return factors;
  }

  static Attributes window_of(const ops::IntegerConv2d& conv) {
    const Dims& w = conv.w().dims();
    return {{"group", conv.groups()},
            {"strides", conv.stride()},
            {"dilations", conv.dilation()},
            {"pads", conv.pad()},
            {"kernel_shape", std::vector<int64_t>(w.begin() + 2, w.end())}};
  }

  /// Returns the name of the bias in codes. A float bias is rounded to the nearest code.
  std::string bias_codes(const Layer& layer) {
    if (layer.b.dtype() == DType::i32) return nodes_.name(layer.b);
    const auto b = nodes_.contents(layer.b).data<float>();
    const auto w_scale = layer.w_scale.data<float>();
    Tensor codes(DType::i32, layer.b.dims());
    for (size_t c = 0; c < b.size(); ++c) {
      const double scale = static_cast<double>(layer.x_scale.scale) * w_scale[w_scale.size() == 1 ? 0 : c];
      codes.data<int32_t>()[c] = static_cast<int32_t>(std::nearbyint(b[c] / scale));
    }
    return writer().add_tensor(layer.b.name(), codes);
  }

  /// Returns one scale for all channels, or one for each.
  Tensor per_channel_or_scalar(const Tensor& scales) const { return scales.size() == 1 ? scales.reshaped({}) : scales; }

  std::string weights(const Layer& layer) {
    const Tensor& codes = nodes_.contents(layer.w);
    const bool narrow = as_floats() && codes.dtype() == DType::i4 && writer().opset() >= kFourBits;
    if (narrow || codes.dtype() == DType::i8) return nodes_.name(layer.w);
    return writer().add_tensor(layer.w.name(), Tensor::of<int8_t>(DType::i8, codes.dims(), codes.data<int8_t>()));
  }

  void add_layer(Op op) {
    const Layer layer = layer_of(op);
    require_u8(op, layer.x);
    with_clamp(op, layer.code_min, layer.code_max, [&](const std::string& codes) {
      as_floats() ? add_float_layer(layer, codes) : add_code_layer(layer, codes);
    });
  }

  void add_code_layer(const Layer& layer, const std::string& codes) {
    const bool conv = layer.op.is<ops::IntegerConv2d>();
    const std::string& name = layer.op.name();
    const Tensor w_scale = per_channel_or_scalar(layer.w_scale);
    NodeText node{conv ? "QLinearConv" : "QGemm", name, {}, {codes}};
    append_codes(node.inputs, layer.op, layer.x, "x", layer.x_scale);
    node.inputs.push_back(weights(layer));
    node.inputs.push_back(writer().add_tensor(name + ".w_scale", w_scale));
    node.inputs.push_back(writer().add_tensor(name + ".w_zero_point", Tensor(DType::i8, w_scale.dims())));
    if (conv) {
      append(node.inputs, name + ".y", layer.y_scale);
      node.inputs.push_back(bias_codes(layer));
      node.attributes = window_of(ops::IntegerConv2d(layer.op.node()));
    } else {
      node.inputs.push_back(bias_codes(layer));
      append(node.inputs, name + ".y", layer.y_scale);
      node.attributes = {{"transB", int64_t{1}}};
      node.domain = kMicrosoft;
    }
    writer().add_node(node);
  }

  /// Inserts DequantizeLinear of a stored tensor along its first axis.
  std::string real_tensor(const std::string& codes, const Tensor& scales, const std::string& hint) {
    std::string name = writer().unique(hint + ".real");
    NodeText node{
        "DequantizeLinear", name, {codes, writer().add_tensor(hint + "_scale", per_channel_or_scalar(scales))}, {name}};
    if (scales.size() > 1) node.attributes = {{"axis", int64_t{0}}};
    writer().add_node(node);
    return name;
  }

  void add_float_layer(const Layer& layer, const std::string& codes) {
    const bool conv = layer.op.is<ops::IntegerConv2d>();
    const std::string& name = layer.op.name();
    Tensor b_scale = layer.w_scale.clone();
    for (float& scale : b_scale.data<float>()) scale *= layer.x_scale.scale;
    NodeText node{conv ? "Conv" : "Gemm", "", {real(layer.op, layer.x, "x", layer.x_scale)}, {}};
    node.inputs.push_back(real_tensor(weights(layer), layer.w_scale, name + ".w"));
    const bool real_bias = layer.b.dtype() == DType::f32;
    node.inputs.push_back(real_bias ? nodes_.name(layer.b) : real_tensor(nodes_.name(layer.b), b_scale, name + ".b"));
    node.attributes = conv ? window_of(ops::IntegerConv2d(layer.op.node())) : Attributes{{"transB", int64_t{1}}};
    add_float(layer.op, std::move(node), layer.y_scale, codes);
  }

  // ---- layers without weights

  /// Adds a node of two values of codes. Without scales, `a_factor` and `b_factor` are their steps in steps of the
  /// result.
  template <class Typed>
  void add_pair(const Typed& op, const char* name, float a_factor, float b_factor) {
    Scale a{a_factor, op.a_zero_point()}, b{b_factor, op.b_zero_point()}, y{1.0F, op.y_zero_point()};
    if (has_scales(op)) {
      a.scale = static_cast<float>(op.a_scale());
      b.scale = static_cast<float>(op.b_scale());
      y.scale = static_cast<float>(op.y_scale());
    }
    require_u8(op, op.a());
    require_u8(op, op.b());
    with_clamp(op, op.code_min(), op.code_max(), [&](const std::string& codes) {
      if (as_floats()) {
        const Scale positive{std::fabs(b.scale), b.zero_point};
        return add_float(
            op, {b.scale < 0 ? "Sub" : name, "", {real(op, op.a(), "a", a), real(op, op.b(), "b", positive)}, {}}, y,
            codes);
      }
      NodeText node{std::string("QLinear") + name, op.name(), {}, {codes}, {}, kMicrosoft};
      append_codes(node.inputs, op, op.a(), "a", a);
      append_codes(node.inputs, op, op.b(), "b", b);
      append(node.inputs, op.name() + ".y", y);
      writer().add_node(node);
    });
  }

  /// A difference becomes a sum with a negative scale, which QLinearAdd accepts.
  void add_sum(const ops::IntegerAdd& op) {
    add_pair(op, "Add", ratio(op.a_multiplier(), op.shift()), ratio(op.b_multiplier(), op.shift()));
  }
  void add_product(const ops::IntegerMul& op) { add_pair(op, "Mul", ratio(op.multiplier(), op.shift()), 1.0F); }

  void add_pool(const ops::IntegerAvgPool2d& op) {
    require_u8(op, op.x());
    const Dims& x = op.x().dims();
    const bool global = op.kernel() == std::vector<int64_t>{x[2], x[3]} && op.pad() == std::vector<int64_t>(4, 0);
    Scale from{1.0F, op.x_zero_point()}, y{1.0F, op.y_zero_point()};
    if (has_scales(op)) {
      from.scale = static_cast<float>(op.x_scale());
      y.scale = static_cast<float>(op.y_scale());
    } else {
      from.scale = ratio(op.multiplier() * op.kernel()[0] * op.kernel()[1], op.shift());
    }
    Attributes window;
    if (!global)
      window = {{"kernel_shape", op.kernel()},
                {"strides", op.stride()},
                {"pads", op.pad()},
                {"count_include_pad", int64_t{op.count_include_pad()}}};
    with_clamp(op, op.code_min(), op.code_max(), [&](const std::string& codes) {
      const std::string name = global ? "GlobalAveragePool" : "AveragePool";
      if (as_floats()) return add_float(op, {name, "", {real(op, op.x(), "x", from)}, {}, window}, y, codes);
      NodeText node{"QLinear" + name, op.name(), {}, {codes}, window, kMicrosoft};
      append_codes(node.inputs, op, op.x(), "x", from);
      append(node.inputs, op.name() + ".y", y);
      writer().add_node(node);
    });
  }

  void add_rescale(const ops::IntegerRescale& op) {
    require_u8(op, op.x());
    approximate(op, "rescales codes by a multiplier");
    const Scale from{ratio(op.multiplier(), op.shift()), op.x_zero_point()}, y{1.0F, op.y_zero_point()};
    with_clamp(op, op.code_min(), op.code_max(), [&](const std::string& codes) {
      NodeText node{"QuantizeLinear", op.name(), {real(op, op.x(), "x", from)}, {codes}};
      append(node.inputs, op.name() + ".y", y);
      writer().add_node(node);
    });
  }

  static Attributes attributes_of(const CodeFunction& function, const TableOrigin& origin) {
    const bool has_alpha = find_operator(function.on_codes)->attribute("alpha") != nullptr;
    return has_alpha ? Attributes{{"alpha", origin.alpha}} : Attributes();
  }

  /// Whether the runtime's function produces exactly this table.
  bool gives_table(const CodeFunction& function, const TableOrigin& origin, const Tensor& table) const {
    const auto results =
        options_.evaluate(*find_operator(function.on_codes), attributes_of(function, origin),
                          {all_codes(table), Tensor::scalar(origin.x_scale), code_of(origin.x_zero_point),
                           Tensor::scalar(origin.y_scale), code_of(origin.y_zero_point)});
    return results.front().same_bits(table);
  }

  bool add_function(const ops::IntegerLookup& op) {
    const TableOrigins& origins = nodes_.model().metadata.tables;
    const auto known = origins.find(op.name());
    if (known == origins.end() || !options_.evaluate) return false;
    const TableOrigin& origin = known->second;
    const Tensor& table = nodes_.contents(op.table());
    const Scale x{origin.x_scale, origin.x_zero_point}, y{origin.y_scale, origin.y_zero_point};
    for (const CodeFunction& function : kCodeFunctions) {
      if (origin.function != function.ours || !gives_table(function, origin, table)) continue;
      NodeText node{function.onnx, op.name(), {}, {nodes_.name(op.out())}};
      node.attributes = attributes_of(function, origin);
      if (as_floats()) {
        node.inputs = {real(op, op.x(), "x", x)};
        add_float(op, std::move(node), y, nodes_.name(op.out()));
      } else {
        node.op = std::string("QLinear") + function.onnx;
        node.domain = kMicrosoft;
        append_codes(node.inputs, op, op.x(), "x", x);
        append(node.inputs, op.name() + ".y", y);
        writer().add_node(node);
      }
      return true;
    }
    return false;
  }

  /// Keeps the table if no function of the runtime produces its codes.
  void add_lookup(const ops::IntegerLookup& op) {
    require_u8(op, op.x());
    require_u8(op, op.out());
    if (add_function(op)) return;
    constexpr int64_t kInt32 = 6;  // TensorProto.DataType
    const std::string index = writer().unique(op.name() + ".index");
    writer().add_node({"Cast", index, {nodes_.name(op.x())}, {index}, {{"to", kInt32}}});
    writer().add_node({"Gather", op.name(), {nodes_.name(op.table()), index}, {nodes_.name(op.out())}});
  }

  NodeExporter& nodes_;
  const ExportOptions& options_;
  std::vector<std::string> approximated_;
  std::map<std::pair<const detail::ValueNode*, std::pair<float, int64_t>>, std::string> floats_;
};

}  // namespace

std::vector<std::string> add_integer_program(NodeExporter& nodes, const ExportOptions& options) {
  const Graph& graph = nodes.model().graph;
  if (graph.all<ops::Quantize>().empty() && graph.all<ops::Dequantize>().empty())
    fail(errors::export_not_integer(nodes.model().graph.name()));
  return IntegerExporter(nodes, options).run();
}

}  // namespace halfstep::formats::onnx
