// The part of the translator that builds our graph, and that runs it where a value is asked for.
#include <algorithm>

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

/// Operands and results together: larger ones stay operations of the model.
constexpr size_t kMaxComputed = size_t{4} << 20;

bool is_known(const Operand& operand) {
  return !operand.there() || operand.known() || (operand.elements && operand.elements->known());
}

const Tensor& or_nothing(const Tensor* tensor) {
  static const Tensor kNothing;
  return tensor == nullptr ? kNothing : *tensor;
}

/// Bytes of the results; 0 where they are not known before.
size_t result_bytes(const OpInfo& info, const Attributes& attributes, const std::vector<Operand>& operands,
                    const std::string& where) {
  std::vector<Type> types;
  for (const Operand& operand : operands) types.push_back(operand.there() ? operand.type() : Type{DType::f32, {}});
  std::vector<const Type*> in(std::max(operands.size(), info.inputs.size() - (info.has_variadic_input() ? 1 : 0)));
  for (size_t i = 0; i < operands.size(); ++i) in[i] = operands[i].there() ? &types[i] : nullptr;
  const Attributes complete = complete_attributes(info, attributes, where);
  const OpSite site{where, info, in, complete};
  size_t bytes = 0;
  for (const Type& type : check_site(site, [](size_t i) { return fmt::format("operand {}", i); }))
    bytes += type.is_static() ? static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype) : 0;
  return bytes;
}

}  // namespace

Value Translator::value_of(const Operand& operand) {
  if (!operand.there() || operand.value) return operand.value;
  HS_CHECK(!operand.lost);
  const Tensor tensor = operand.known() ? operand.tensor : contents(operand);
  const std::pair<const void*, std::string> key(tensor.raw(), to_string(tensor.type()));
  const auto known = tensors_.find(key);
  if (known != tensors_.end()) return known->second;
  std::string name = operand.name.empty() ? "constant" : operand.name;
  for (size_t i = tensors_.size(); model_.graph.tensor(name); ++i) name = fmt::format("{}.{}", operand.name, i);
  const Role role = is_float(tensor.dtype()) && tensor.size() > 1 ? Role::parameter : Role::constant;
  const Value value = model_.graph.add_tensor(name, tensor.type(), role);
  model_.tensors[name] = tensor;
  tensors_[key] = value;
  return value;
}

std::vector<Operand> Translator::make(const Node& node, std::string_view op, std::vector<Operand> operands,
                                      Attributes attributes) {
  const OpInfo* info = find_operator(op);
  if (info == nullptr) refuse(node, fmt::format("it needs the operator {}, which is not there", op));
  try {
    size_t bytes = 0;
    for (const Operand& operand : operands) bytes += operand.known() ? operand.tensor.bytes() : 0;
    const bool all_known = std::all_of(operands.begin(), operands.end(), is_known);
    if (all_known && binding_.evaluate && bytes <= kMaxComputed) {
      if (result_bytes(*info, attributes, operands, node.where()) <= kMaxComputed)
        return compute(*info, attributes, operands);
    }
    return insert(node, *info, operands, std::move(attributes));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    // What our operator's rules refuse, a type above all, may be right in ONNX.
    const std::string message = error.what();
    const size_t quoted = message.find("': ");
    const bool has_place = message.find("node '") != std::string::npos && quoted != std::string::npos;
    const bool has_call = message.starts_with("call: ");
    refuse(node, has_place ? message.substr(quoted + 3) : has_call ? message.substr(6) : message);
  }
}

Operand Translator::make_one(const Node& node, std::string_view op, std::vector<Operand> operands,
                             Attributes attributes) {
  return make(node, op, std::move(operands), std::move(attributes)).at(0);
}

std::vector<Operand> Translator::compute(const OpInfo& info, const Attributes& attributes,
                                         const std::vector<Operand>& operands) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.there() ? contents(operand) : Tensor());
  std::vector<Operand> results;
  for (Tensor& tensor : binding_.evaluate(info, attributes, tensors)) results.push_back(known(std::move(tensor)));
  return results;
}

std::vector<Operand> Translator::insert(const Node& node, const OpInfo& info, const std::vector<Operand>& operands,
                                        Attributes attributes) {
  // Nodes of iterations come again and again: a number of their own spares the search for a free name.
  std::string hint = node.name() + "." + info.name;
  if (model_.graph.op(hint)) hint += fmt::format(".{}", ++names_);
  OpSpec spec{&info, {}, std::move(attributes), hint, {file_.name(), number_}};
  for (const Operand& operand : operands) spec.operands.push_back(value_of(operand));
  const Op op = model_.graph.insert(std::move(spec));
  made_.insert(op.name());
  std::vector<Operand> results;
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    Operand result;
    result.value = op.out(static_cast<int>(port));
    results.push_back(result);
  }
  return results;
}

Operand Translator::reshaped(const Node& node, const Operand& operand, Dims dims) {
  if (operand.known() && std::none_of(dims.begin(), dims.end(), [](int64_t d) { return d <= 0; }) &&
      count_elements(dims) == operand.tensor.size())
    return known(operand.tensor.reshaped(dims), operand.name);
  if (operand.type().is_static() && operand.dims() == dims) return operand;
  return make_one(node, "reshape", {operand}, {{"dims", dims}});
}

// ---- contents

Tensor Translator::contents(const Operand& operand) {
  if (operand.known()) return operand.tensor;
  if (operand.elements) {
    if (operand.elements->known()) return operand.elements->tensor();
    throw NeedsExtents("it depends on open extents of the inputs");
  }
  if (operand.lost) throw NeedsValues("it depends on what is not supported");
  HS_CHECK(operand.value);
  return evaluated(operand.value);
}

std::vector<int64_t> Translator::integers(const Node& node, const Operand& operand) {
  return integers_of(contents(operand), node.where());
}

Tensor Translator::leaf_contents(Value value) const {
  if (value.is_tensor()) return model_.tensors.at(value.name());
  const auto given = binding_.values.find(value.name());
  if (given == binding_.values.end()) throw NeedsValues(fmt::format("it depends on the values of '{}'", value.name()));
  return given->second;
}

Tensor Translator::evaluated(Value wanted) {
  if (!binding_.evaluate) throw NeedsValues(fmt::format("it depends on the values of '{}'", wanted.name()));
  std::vector<Value> open = {wanted};
  while (!open.empty()) {
    const Value value = open.back();
    const Op op = value.producer();
    if (contents_.contains(value.node())) {
      open.pop_back();
    } else if (!op) {
      contents_[value.node()] = leaf_contents(value);
    } else {
      const size_t before = open.size();
      for (const Value operand : op.operands()) {
        if (operand && !contents_.contains(operand.node())) open.push_back(operand);
      }
      if (open.size() == before) evaluate_op(op);
    }
  }
  return contents_.at(wanted.node());
}

void Translator::evaluate_op(Op op) {
  std::vector<Tensor> operands;
  for (const Value operand : op.operands())
    operands.push_back(or_nothing(operand ? &contents_.at(operand.node()) : nullptr));
  const std::vector<Tensor> results = binding_.evaluate(op.info(), op.attributes(), operands);
  for (const Value result : op.results()) contents_[result.node()] = results[static_cast<size_t>(result.port())];
}

}  // namespace halfstep::formats::onnx
