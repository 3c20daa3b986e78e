#include "halfstep/formats/onnx_export/export_nodes.h"

#include <algorithm>
#include <map>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/builder/record_form.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx_export/errors.h"

namespace halfstep::formats::onnx {
namespace {

template <class T>
const T* find(const std::vector<std::pair<std::string, T>>& list, const std::string& ours) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.first == ours; });
  return found == list.end() ? nullptr : &found->second;
}

/// Whether the foreign operator represents this operator with these attributes.
bool stands_for(const ForeignInfo& entry, const Attributes& attributes, int64_t opset) {
  const int64_t version = entry.domain.empty() ? opset : 1;
  if (entry.format != "onnx" || version < entry.since || version > entry.until) return false;
  return std::all_of(entry.fixed.begin(), entry.fixed.end(),
                     [&](const auto& fixed) { return attributes.at(fixed.first) == fixed.second; });
}

/// Prefers ONNX's own operators to those of other domains.
const ForeignInfo* entry_of(const OpInfo& info, const Attributes& attributes, int64_t opset) {
  const ForeignInfo* found = nullptr;
  for (const ForeignInfo& entry : info.foreign) {
    if (!stands_for(entry, attributes, opset)) continue;
    if (entry.domain.empty()) return &entry;
    if (found == nullptr) found = &entry;
  }
  return found;
}

/// Builds the error, with the first later opset that has the form.
Diagnostic no_form(Op op, int64_t opset) {
  for (int64_t later = opset + 1; later <= kNewestExportOpset; ++later) {
    if (entry_of(op.info(), op.attributes(), later) != nullptr)
      return errors::needs_other_opset(op.where(), op.info().name, opset, later, "newer");
  }
  return errors::no_onnx_form(op.where(), op.info().name, opset);
}

bool is_empty(const Attribute& value) {
  return std::visit(
      [](const auto& content) {
        if constexpr (requires { content.empty(); }) return content.empty();
        return false;
      },
      value);
}

/// Whether the record assumes this value if ONNX's attribute is absent.
bool is_understood(const ForeignInfo& entry, const AttributeInfo& ours, const Attribute& value) {
  if (const Attribute* otherwise = find(entry.defaults, ours.name)) return value == *otherwise;
  return is_empty(value) || (!ours.required && value == ours.default_value);
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Converts the name of an element type to ONNX's number, and auto_pad to capitals. Other values stay.
Attribute foreign_value(const std::string& name, const Attribute& ours) {
  if (const auto* text = std::get_if<std::string>(&ours)) {
    if (const auto dtype = parse_dtype(*text)) return onnx_type_of(*dtype);
    if (name == "auto_pad") return upper(*text);
  }
  return ours;
}

Tensor tensor_of(const Attribute& value, const std::string& where) {
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    return Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(list->size())}, *list);
  if (const auto* number = std::get_if<int64_t>(&value)) return Tensor::of<int64_t>(DType::i64, {}, {number, 1});
  if (const auto* real = std::get_if<double>(&value)) {
    const auto element = static_cast<float>(*real);
    return Tensor::of<float>(DType::f32, {}, {&element, 1});
  }
  if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    const std::vector<float> elements(floats->begin(), floats->end());
    return Tensor::of<float>(DType::f32, {static_cast<int64_t>(elements.size())}, elements);
  }
  fail(errors::export_value_as_input(where, to_string(value)));
}

/// Returns the input of a chain of quantizers.
Value behind_quantizers(Value value) {
  while (value.producer() && value.producer().info().quant.trait == Trait::quantizer) value = value.producer().in(0);
  return value;
}

void set_input(std::vector<std::string>& inputs, size_t position, std::string name) {
  if (inputs.size() <= position) inputs.resize(position + 1);
  inputs[position] = std::move(name);
}

}  // namespace

NodeExporter::NodeExporter(const Model& model, const ExportOptions& options)
    : model_(model), options_(options), writer_(model.graph.name(), options.opset) {
  reserve_names();
}

void NodeExporter::reserve_names() {
  for (const Value argument : model_.graph.arguments()) {
    names_[argument.node()] = writer_.unique(argument.name());
    writer_.add_input(names_[argument.node()], argument.type());
  }
  const auto outputs = model_.graph.outputs();
  const auto& output_names = model_.graph.body().output_names();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = writer_.unique(output_names[i].empty() ? outputs[i].name() : output_names[i]);
    const Value value = options_.form == ExportForm::floats ? behind_quantizers(outputs[i]) : outputs[i];
    if (value.producer()) reserved_.emplace(value.node(), name);
  }
}

std::string NodeExporter::name(Value value) {
  if (!value) return "";
  if (const auto found = names_.find(value.node()); found != names_.end()) return found->second;
  if (const auto own = reserved_.find(value.node()); own != reserved_.end()) return names_[value.node()] = own->second;
  return names_[value.node()] =
             value.is_tensor() ? writer_.add_tensor(value.name(), contents(value)) : writer_.unique(value.name());
}

void NodeExporter::alias(Value value, Value same) { names_[value.node()] = name(same); }

std::string NodeExporter::integers(const std::string& hint, const std::vector<int64_t>& values) {
  return writer_.add_tensor(hint, tensor_of(values, hint));
}

NodeText NodeExporter::node_of(Op op, const std::string& foreign) {
  return {foreign, op.name(), {name(op.in(0))}, {name(op.out(0))}};
}

void NodeExporter::add(Op op) {
  if (op.info().flow != Flow::none) return add_flow(op);
  if (op.is<ops::InputNop, ops::OutputNop>()) return alias(op.out(0), op.in(0));
  if (op.is<ops::Linear>()) return add_linear(op);
  if (op.is<ops::Matmul>()) return add_matmul(op);
  if (op.is<ops::Reshape>()) return add_reshape(op);
  if (op.is<ops::ReshapeBy>()) return add_reshape_by(op);
  if (op.is<ops::Positions>()) return add_positions(op);
  if (op.is<ops::Relu6>()) return add_clip(op, 0, 6);
  if (op.is<ops::HardTanh>()) return add_clip(op, ops::HardTanh(op.node()).alpha(), ops::HardTanh(op.node()).beta());
  if (op.is<ops::AffinePower>()) return add_affine_power(op);
  if (op.is<ops::MaskFill>()) return add_mask_fill(op);
  if (op.is<ops::Silu>()) return add_silu(op);
  if (op.is<ops::Gelu>()) return add_gelu(op);
  if (op.is<ops::LayerNorm>()) return add_layer_norm(op);
  if (op.is<ops::GroupNorm>()) return add_group_norm(op);
  if (op.is<ops::TopK>()) return add_top_k(op);
  if (op.is<ops::Lstm, ops::Gru, ops::Rnn>()) return add_recurrent(op);
  if (op.is<ops::GridSample>()) return add_grid_sample(op);
  if (op.is<ops::Conv>()) return add_window(op, "Conv");
  if (op.is<ops::MaxPool>()) return add_window(op, "MaxPool");
  if (op.is<ops::AveragePool>()) return add_window(op, "AveragePool");
  // Attributes that ONNX requires, or for which ONNX has another default.
  if (op.is<ops::Concat>()) return add_by_record(op, "axis");
  if (op.is<ops::AvgPool2d>()) return add_by_record(op, "count_include_pad");
  add_by_record(op);
}

void NodeExporter::add_by_record(Op op, std::string_view always, const Attributes& more) {
  const ForeignInfo* entry = entry_of(op.info(), op.attributes(), writer_.opset());
  if (entry == nullptr) fail(no_form(op, writer_.opset()));
  NodeText node{entry->op, op.name(), {}, {}, more, entry->domain};
  std::vector<size_t> taken;
  for (const auto& [ours, position] : entry->inputs) taken.push_back(static_cast<size_t>(position));
  size_t next = 0;
  for (size_t port = 0; port < op.info().inputs.size(); ++port) {
    const PortInfo& input = op.info().inputs[port];
    if (input.variadic) {
      for (const Value value : op.variadic()) set_input(node.inputs, next++, name(value));
      break;
    }
    const int* position = find(entry->inputs, input.name);
    while (position == nullptr && std::find(taken.begin(), taken.end(), next) != taken.end()) ++next;
    set_input(node.inputs, position != nullptr ? static_cast<size_t>(*position) : next++,
              name(op.in(static_cast<int>(port))));
  }
  for (const AttributeInfo& ours : op.info().attributes) {
    const Attribute& value = op.attributes().at(ours.name);
    const bool understood = ours.name != always && is_understood(*entry, ours, value);
    if (understood || more.contains(foreign_name(*entry, ours.name)) || find(entry->fixed, ours.name) != nullptr)
      continue;
    if (const int* position = find(entry->inputs, ours.name)) {
      set_input(node.inputs, static_cast<size_t>(*position),
                writer_.add_tensor(op.name() + "." + ours.name, tensor_of(value, op.where())));
    } else {
      node.attributes[foreign_name(*entry, ours.name)] = foreign_value(ours.name, value);
    }
  }
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  for (size_t port = 0; port < op.info().outputs.size(); ++port)
    node.outputs.push_back(name(op.out(static_cast<int>(port))));
  while (!node.outputs.empty() && node.outputs.back().empty()) node.outputs.pop_back();
  writer_.add_node(node);
}

std::string NodeExporter::floats_of(Op op, const char* what, int64_t code) {
  const ops::FakeQuantize quantizer(op.node());
  const auto scales = contents(quantizer.scale()).data<float>();
  const auto zero_points = contents(quantizer.zero_point()).data<int32_t>();
  Dims dims(quantizer.axis() < 0 ? 0 : quantizer.x().dims().size(), 1);
  if (quantizer.axis() >= 0) dims[static_cast<size_t>(quantizer.axis())] = static_cast<int64_t>(scales.size());
  Tensor values(DType::f32, dims);
  for (size_t c = 0; c < scales.size(); ++c)
    values.data<float>()[c] = scales[c] * static_cast<float>(code - zero_points[c]);
  return writer_.add_tensor(op.name() + what, values);
}

void NodeExporter::add_pair(Op op) {
  const ops::FakeQuantize quantizer(op.node());
  const DType type = quantizer.code_type() == "i4" ? DType::i8 : *parse_dtype(quantizer.code_type());
  const auto [least, largest] = whole_range(type);
  std::string x = name(quantizer.x());
  const auto bound = [&](const char* by, const char* what, int64_t code) {
    const std::string bounded = op.name() + what + ".bound";
    writer_.add_node({by, bounded, {x, floats_of(op, what, code)}, {bounded}, {}});
    x = bounded;
  };
  if (least < static_cast<double>(quantizer.code_min())) bound("Max", ".low", quantizer.code_min());
  if (largest > static_cast<double>(quantizer.code_max())) bound("Min", ".high", quantizer.code_max());
  const Dims dims = quantizer.axis() < 0 ? Dims{} : contents(quantizer.scale()).dims();
  Tensor zero_points(type, dims);
  for (int64_t c = 0; c < zero_points.size(); ++c)
    set_element(zero_points, c, element(contents(quantizer.zero_point()), c));
  const std::string scale = writer_.add_tensor(op.name() + ".scale", contents(quantizer.scale()).reshaped(dims));
  const std::string zero_point = writer_.add_tensor(op.name() + ".zero_point", zero_points);
  const Attributes axis = quantizer.axis() < 0 ? Attributes{} : Attributes{{"axis", quantizer.axis()}};
  const std::string codes = op.name() + ".codes";
  writer_.add_node({"QuantizeLinear", codes, {x, scale, zero_point}, {codes}, axis});
  writer_.add_node({"DequantizeLinear", op.name(), {codes, scale, zero_point}, {name(op.out(0))}, axis});
}

void NodeExporter::add_fake_quantize(Op op) {
  const ops::FakeQuantize quantizer(op.node());
  const bool is_narrow = quantizer.x().is_tensor() && quantizer.code_max() - quantizer.code_min() == 127;
  const int64_t low = is_narrow ? 2 * quantizer.code_min() : quantizer.code_min();
  const int64_t high = is_narrow ? 2 * quantizer.code_max() + 1 : quantizer.code_max();
  NodeText node = node_of(op, "FakeQuantize");
  node.domain = "org.openvinotoolkit";
  const std::string least = floats_of(op, ".low", low), largest = floats_of(op, ".high", high);
  for (const std::string& bound : {least, largest, least, largest}) node.inputs.push_back(bound);
  node.attributes = {{"levels", high - low + 1}};
  writer_.add_node(node);
}

void NodeExporter::add_linear(Op op) {
  const ops::Linear linear(op.node());
  NodeText node = node_of(op, "Gemm");
  node.inputs.push_back(name(linear.w()));
  if (linear.b()) node.inputs.push_back(name(linear.b()));
  node.attributes = {{"transB", int64_t{1}}};
  writer_.add_node(node);
}

/// ONNX takes the number of elements as a list of one.
void NodeExporter::add_top_k(Op op) {
  const ops::TopK top(op.node());
  NodeText node{"TopK", op.name(), {name(top.x()), integers(op.name() + ".k", {top.k()})}, {}, {}};
  for (const Value result : {op.out(0), op.out(1)}) node.outputs.push_back(name(result));
  node.attributes = op.attributes();
  node.attributes.erase("k");
  writer_.add_node(node);
}

/// ONNX requires the number of hidden values, which follows from the weights.
void NodeExporter::add_recurrent(Op op) {
  add_by_record(op, {}, {{"hidden_size", op.in(op.info().input("r")).dims().back()}});
}

/// ONNX's product has no transposed operands.
void NodeExporter::add_matmul(Op op) {
  const ops::Matmul product(op.node());
  const auto operand = [&](Value value, bool is_transposed) {
    if (!is_transposed) return name(value);
    std::vector<int64_t> perm;
    for (size_t axis = 0; axis < value.dims().size(); ++axis) perm.push_back(static_cast<int64_t>(axis));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    const std::string turned = writer_.unique(op.name() + ".transposed");
    writer_.add_node({"Transpose", turned, {name(value)}, {turned}, {{"perm", perm}}});
    return turned;
  };
  NodeText node{"MatMul", op.name(), {}, {name(op.out(0))}};
  node.inputs = {operand(product.a(), product.transpose_a()), operand(product.b(), product.transpose_b())};
  writer_.add_node(node);
}

/// A window over any number of axes. In the records, ONNX's operator belongs to the operator on images.
void NodeExporter::add_window(Op op, const std::string& foreign) {
  static const std::map<std::string, std::string, std::less<>> kNames = {{"groups", "group"},
                                                                         {"kernel", "kernel_shape"},
                                                                         {"stride", "strides"},
                                                                         {"dilation", "dilations"},
                                                                         {"pad", "pads"}};
  NodeText node{foreign, op.name(), {}, {}};
  for (const Value operand : op.operands()) node.inputs.push_back(name(operand));
  for (const Value result : op.results()) node.outputs.push_back(name(result));
  while (node.inputs.back().empty()) node.inputs.pop_back();
  for (const AttributeInfo& ours : op.info().attributes) {
    const Attribute& value = op.attributes().at(ours.name);
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    const bool is_one = ours.name == "dilation" && std::ranges::all_of(*list, [](int64_t step) { return step == 1; });
    if (is_one || ours.name == "with_indices" || (!ours.required && value == ours.default_value)) continue;
    const auto theirs = kNames.find(ours.name);
    node.attributes[theirs == kNames.end() ? ours.name : theirs->second] = foreign_value(ours.name, value);
  }
  writer_.add_node(node);
}

/// Opset 20 renamed its modes.
void NodeExporter::add_grid_sample(Op op) {
  constexpr int64_t kRenamed = 20;
  std::string mode = ops::GridSample(op.node()).mode();
  const bool has_prefix = mode.starts_with("bi");
  const bool wants_prefix = writer_.opset() < kRenamed && mode != "nearest";
  if (has_prefix && !wants_prefix) mode.erase(0, 2);
  if (wants_prefix && !has_prefix) mode.insert(0, "bi");
  add_by_record(op, {}, {{"mode", mode}});
}

void NodeExporter::add_reshape(Op op) {
  NodeText node = node_of(op, "Reshape");
  node.inputs.push_back(integers(op.name() + ".dims", ops::Reshape(op.node()).dims()));
  writer_.add_node(node);
}

std::string NodeExporter::extent_of(Op op, Value value, int64_t axis) {
  const std::string shape = writer_.unique(op.name() + ".shape");
  std::string extent = writer_.unique(op.name() + ".extent");
  writer_.add_node({"Shape", shape, {name(value)}, {shape}});
  writer_.add_node({"Gather", extent, {shape, integers(op.name() + ".axis", {axis})}, {extent}});
  return extent;
}

void NodeExporter::add_reshape_by(Op op) {
  const ops::ReshapeBy reshape(op.node());
  const auto at =
      static_cast<std::ptrdiff_t>(reshape.at() < 0 ? reshape.at() + std::ssize(reshape.dims()) : reshape.at());
  const std::vector<int64_t>& dims = reshape.dims();
  const std::string wanted = writer_.unique(op.name() + ".wanted");
  NodeText concat{"Concat", wanted, {}, {wanted}, {{"axis", int64_t{0}}}};
  if (at > 0) concat.inputs.push_back(integers(op.name() + ".before", {dims.begin(), dims.begin() + at}));
  concat.inputs.push_back(extent_of(op, reshape.like(), reshape.axis()));
  if (dims.begin() + at + 1 != dims.end())
    concat.inputs.push_back(integers(op.name() + ".behind", {dims.begin() + at + 1, dims.end()}));
  writer_.add_node(concat);
  NodeText node = node_of(op, "Reshape");
  node.inputs.push_back(wanted);
  writer_.add_node(node);
}

void NodeExporter::add_positions(Op op) {
  const ops::Positions positions(op.node());
  const auto number = [&](const char* what, int64_t value) {
    return writer_.add_tensor(op.name() + what, Tensor::of<int64_t>(DType::i64, {}, {&value, 1}));
  };
  const std::string limit = writer_.unique(op.name() + ".limit"), scaled = writer_.unique(op.name() + ".scaled"),
                    count = writer_.unique(op.name() + ".count");
  const std::string extent = extent_of(op, positions.like(), positions.axis());
  writer_.add_node({"Reshape", limit, {extent, integers(op.name() + ".number", {})}, {limit}});
  writer_.add_node({"Range", count, {number(".first", 0), limit, number(".one", 1)}, {count}});
  writer_.add_node({"Mul", scaled, {count, number(".step", positions.step())}, {scaled}});
  writer_.add_node({"Add", op.name(), {scaled, number(".start", positions.start())}, {name(op.out(0))}});
}

void NodeExporter::add_clip(Op op, double lowest, double highest) {
  NodeText node = node_of(op, "Clip");
  for (const auto& [suffix, limit] : {std::pair(".min", lowest), std::pair(".max", highest)}) {
    const auto number = static_cast<float>(limit);
    node.inputs.push_back(writer_.add_tensor(op.name() + suffix, Tensor::of<float>(DType::f32, {}, {&number, 1})));
  }
  writer_.add_node(node);
}

void NodeExporter::add_affine_power(Op op) {
  const ops::AffinePower power(op.node());
  std::string base = name(power.x());
  const auto apply = [&](const char* foreign, const char* what, double number, std::string out) {
    const Tensor stored = Tensor::scalar(static_cast<float>(number));
    writer_.add_node({foreign, out, {base, writer_.add_tensor(op.name() + what, stored)}, {out}});
    base = std::move(out);
  };
  if (power.gamma() != 1) apply("Mul", ".factor", power.gamma(), writer_.unique(op.name() + ".scaled"));
  if (power.bias() != 0) apply("Add", ".bias", power.bias(), writer_.unique(op.name() + ".base"));
  apply("Pow", ".exponent", power.alpha(), name(power.out()));
}

void NodeExporter::add_mask_fill(Op op) {
  const ops::MaskFill mask(op.node());
  std::string selected = name(mask.value()), other = name(mask.x());
  if (mask.inverse()) std::swap(selected, other);
  writer_.add_node({"Where", op.name(), {name(mask.condition()), selected, other}, {name(op.out(0))}});
}

void NodeExporter::add_silu(Op op) {
  const std::string gate = writer_.unique(op.name() + ".gate");
  writer_.add_node({"Sigmoid", gate, {name(op.in(0))}, {gate}});
  writer_.add_node({"Mul", op.name(), {name(op.in(0)), gate}, {name(op.out(0))}});
}

/// Part of ONNX since opset 20, with the approximation as a word.
void NodeExporter::add_gelu(Op op) {
  constexpr int64_t kOwnGelu = 20;
  const bool approximate = ops::Gelu(op.node()).approximate();
  const bool own = writer_.opset() >= kOwnGelu;
  NodeText node = node_of(op, approximate && !own ? "FastGelu" : "Gelu");
  if (!own) node.domain = "com.microsoft";
  if (own && approximate) node.attributes = {{"approximate", std::string("tanh")}};
  writer_.add_node(node);
}

void NodeExporter::require_opset(Op op, int64_t since) const {
  if (writer_.opset() >= since) return;
  fail(errors::needs_other_opset(op.where(), op.info().name, writer_.opset(), since, "newer"));
}

/// Its record has no first version, because older files written by onnxruntime's tools must be readable.
void NodeExporter::add_layer_norm(Op op) {
  require_opset(op, 17);
  add_by_record(op);
}

/// Has a scale for each group before opset 21, and for each channel since then.
void NodeExporter::add_group_norm(Op op) {
  const ops::GroupNorm norm(op.node());
  const int64_t scales = norm.scale().dims()[0];
  constexpr int64_t kByChannel = 21;
  if (scales != norm.num_groups()) require_opset(op, kByChannel);
  if (scales != norm.x().dims()[1] && writer_.opset() >= kByChannel)
    fail(errors::needs_other_opset(op.where(), "group_norm with a scale for each group", writer_.opset(),
                                   kByChannel - 1, "older"));
  add_by_record(op);
}

void NodeExporter::add_outputs() {
  const auto outputs = model_.graph.outputs();
  const auto& output_names = model_.graph.body().output_names();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string wanted = output_names[i].empty() ? outputs[i].name() : output_names[i];
    if (name(outputs[i]) != wanted) writer_.add_node({"Identity", wanted, {name(outputs[i])}, {wanted}});
    writer_.add_output(wanted, outputs[i].type());
  }
  for (const std::string& extra : options_.outputs) {
    const Value value = model_.graph.value(extra);
    if (!value || !value.producer()) fail(errors::no_such_output(extra));
    writer_.add_output(name(value), value.type());
  }
}

}  // namespace halfstep::formats::onnx
