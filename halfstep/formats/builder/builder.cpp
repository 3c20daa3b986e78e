#include "halfstep/formats/builder/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/shapes/infer.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

/// Maximum bytes of operands and results together. Larger nodes stay operations of the model.
constexpr size_t kMaxComputed = size_t{4} << 20;
/// Maximum number of translated nodes in total. Nodes of iterations count each time.
constexpr int64_t kMaxTranslated = 400'000;
/// Maximum bytes of tensors that nodes without inputs create.
constexpr size_t kMaxMade = size_t{1} << 30;

/// Returns the error with the node as its place if it has no place yet.
Error at_node(const Node& node, const Error& error) {
  std::vector<Diagnostic> diagnostics;
  for (const Diagnostic& one : error.diagnostics()) diagnostics.push_back(placed(one, "", node.where()));
  return Error(std::move(diagnostics));
}

/// Marks the error as unsupported, because a node that Halfstep's operator rejects, most often for a type, may be valid
/// in the file's format.
Error refused_by_operator(const Node& node, const Error& error) {
  std::vector<Diagnostic> diagnostics;
  for (const Diagnostic& one : error.diagnostics()) {
    const Diagnostic bare = placed(one, "", node.where());
    diagnostics.push_back(
        errors::operator_refuses_node(node.where(), bare.problem, bare.found, bare.expected, bare.remedy));
  }
  return Error(std::move(diagnostics));
}

/// Whether the names of an operation of this kind and of all its results are free.
bool is_free(const Graph& graph, const OpInfo& info, const std::string& name) {
  if (graph.op(name)) return false;
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    if (graph.value(port == 0 ? name : name + "." + info.outputs[port].name)) return false;
  }
  return true;
}

bool is_known(const Operand& operand) {
  return !operand.there() || operand.known() || (operand.elements && operand.elements->known());
}

const Tensor& or_nothing(const Tensor* tensor) {
  static const Tensor kNothing;
  return tensor == nullptr ? kNothing : *tensor;
}

/// Returns the bytes of the results, or 0 if unknown in advance.
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

Builder::Builder(std::string file, const Binding& binding, Model& model, Coverage* survey)
    : file_(std::move(file)), binding_(binding), model_(model), survey_(survey) {}

Operand Builder::known(Tensor tensor, std::string name) {
  Operand operand;
  operand.tensor = std::move(tensor);
  operand.name = std::move(name);
  return operand;
}

Operand Builder::lost() {
  Operand operand;
  operand.lost = true;
  return operand;
}

void Builder::note_quantizer(const Node& node) { model_.metadata.quantizers_as_arithmetic.push_back(node.name()); }

// ---- inputs and outputs

Operand Builder::add_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared) {
  try {
    return make_input(name, has_rank, declared);
  } catch (const Error& error) {
    if (!surveys() || error.kind() != ErrorKind::unsupported) throw;
    for (const Diagnostic& one : error.diagnostics())
      survey_->issues.push_back({"input", one, needs_values(one), needs_extents(one), {name}});
    return lost();
  }
}

Operand Builder::make_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared) {
  auto [type, extents] = declared();
  const auto value = binding_.values.find(name);
  const auto given = binding_.dims.find(name);
  const Dims* dims = value != binding_.values.end() ? &value->second.dims()
                     : given != binding_.dims.end() ? &given->second
                                                    : nullptr;
  if (dims != nullptr) {
    const auto fits = [](int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; };
    if (has_rank && !std::equal(type.dims.begin(), type.dims.end(), dims->begin(), dims->end(), fits))
      fail(errors::given_input_differs(file_, name, "the extents " + to_string(*dims), to_string(type.dims)));
    type.dims = *dims;
  } else if (!has_rank) {
    fail(errors::input_without_rank(file_, name));
  }
  if (value != binding_.values.end() && value->second.dtype() != type.dtype)
    fail(errors::given_input_differs(file_, name, to_string(value->second.type()), to_string(type)));
  Operand operand;
  operand.value = model_.graph.add_argument(name, type);
  trials_.add_argument(operand.value, extents);
  return operand;
}

namespace {

/// A node for operators that only an output needs, such as a list of dynamic extents.
class OutputNode : public Node {
 public:
  OutputNode(const std::string& file, const std::string& name)
      : name_(name), where_(fmt::format("{}: output '{}'", file, name)) {}

  const std::string& name() const override { return name_; }
  std::string title() const override { return "output"; }
  const std::string& where() const override { return where_; }
  std::optional<Attribute> attribute_as(const AttributeInfo&, const std::string&) const override { return {}; }
  std::string left_over(const Names&) const override { return ""; }

 private:
  std::string name_, where_;
};

}  // namespace

void Builder::set_outputs(const std::vector<Operand>& operands, std::vector<std::string> names) {
  std::vector<Value> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].there()) fail(errors::output_missing(file_, names[i]));
    values.push_back(value_of(readable(OutputNode(file_, names[i]), operands[i])));
  }
  model_.graph.set_outputs(std::move(values), std::move(names));
}

// ---- nodes

bool needs_values(const Diagnostic& diagnostic) {
  return diagnostic.entry == &errors::depends_on_values_entry || diagnostic.entry == &errors::depends_on_run_entry ||
         diagnostic.entry == &errors::depends_on_unsupported_entry;
}

bool needs_values(const Error& error) {
  return std::ranges::any_of(error.diagnostics(), [](const Diagnostic& one) { return needs_values(one); });
}

bool needs_extents(const Diagnostic& diagnostic) {
  return diagnostic.entry == &errors::depends_on_extents_entry || diagnostic.entry == &errors::input_without_rank_entry;
}

bool Builder::attempt(const Node& node, bool is_outermost, const std::function<void()>& translate,
                      const std::function<bool()>& is_lost, const std::function<void()>& look_up) {
  if (++translated_ > kMaxTranslated) fail(errors::too_many_nodes(file_, kMaxTranslated));
  if (is_outermost) ++number_;
  made_.clear();
  try {
    if (!surveys() || !is_lost()) {
      translate();
      return true;
    }
    ++survey_->unchecked;
    look_up();
  } catch (const Error& error) {
    if (!surveys() || error.kind() != ErrorKind::unsupported) throw at_node(node, error);
    note(node, error);
  }
  return false;
}

void Builder::note(const Node& node, const Error& error) {
  const std::string op = node.title(), line = to_string(node.source());
  const std::string title = line.empty() ? node.name() : fmt::format("{} ({})", node.name(), line);
  auto& issues = survey_->issues;
  for (const Diagnostic& one : error.diagnostics()) {
    const Diagnostic reason = placed(one, "", node.where());
    const auto [known, is_new] = noted_.emplace(std::pair(op, reason.reason()), issues.size());
    if (is_new) issues.push_back({op, reason, needs_values(reason), needs_extents(reason), {}});
    auto& nodes = issues[known->second].nodes;
    if (std::ranges::find(nodes, title) == nodes.end()) nodes.push_back(title);
  }
}

void Builder::name_result(const Node& node, const std::string& name, Operand& operand,
                          const std::vector<std::string>& better) {
  if (operand.known()) made_bytes_ += operand.tensor.bytes();
  if (operand.known() && made_bytes_ > kMaxMade) fail(errors::constants_too_large(node.where(), kMaxMade >> 20));
  if (operand.value) {
    const Op op = operand.value.producer();
    if (!op || operand.value.port() != 0 || !made_.contains(op.name())) return;
    const auto free = [&](const std::string& wanted) { return is_free(model_.graph, op.info(), wanted); };
    const auto chosen = std::ranges::find_if(better, free);
    if (chosen == better.end() && !free(name)) return;
    made_.erase(op.name());
    model_.graph.rename(op, chosen == better.end() ? name : *chosen);
    if (chosen != better.end()) add_given_name(model_.metadata.given_names, *chosen, name);
  } else if (operand.name.empty()) {
    operand.name = name;
  }
}

// ---- Halfstep's graph

Value Builder::value_of(const Operand& operand) {
  const Value value = !operand.there() || operand.value ? operand.value : tensor_of(operand);
  const Value local = regions_.local(value);
  if (local != value) trials_.add(local, extents_of(operand));
  return local;
}

Operand Builder::readable(const Node& node, const Operand& operand) {
  const bool is_open = operand.elements && !operand.elements->known();
  Operand found = is_open ? counted_elements(*this, node, *operand.elements) : operand;
  if (found.known() && found.name.empty()) found.name = node.name() + ".constant";
  return found;
}

Value Builder::tensor_of(const Operand& operand) {
  HS_CHECK(!operand.lost);
  const Tensor tensor = operand.known() ? operand.tensor : contents(operand);
  const std::pair<const void*, std::string> key(tensor.raw(), to_string(tensor.type()));
  const auto known = tensors_.find(key);
  if (known != tensors_.end()) return known->second;
  const Role role = is_float(tensor.dtype()) && tensor.size() > 1 ? Role::parameter : Role::constant;
  return tensors_[key] = declare(operand.name, tensor, role);
}

Value Builder::state_of(const Operand& operand) {
  if (!operand.known()) return value_of(operand);
  return declare(operand.name, operand.tensor.clone(), Role::state);
}

Value Builder::declare(const std::string& wanted, const Tensor& tensor, Role role) {
  const std::string base = wanted.empty() ? "constant" : wanted;
  std::string name = base;
  for (size_t i = tensors_.size(); model_.graph.tensor(name); ++i) name = fmt::format("{}.{}", base, i);
  model_.tensors[name] = tensor;
  return model_.graph.add_tensor(name, tensor.type(), role);
}

namespace {

/// Whether the operator is another framework's quantizer, clamps codes, or reads stored codes of ONNX. That of a weight
/// stays, because quantize keeps its codes.
bool is_quantizer(const OpInfo& info, const std::vector<Operand>& operands) {
  const Trait trait = info.quant.trait;
  const bool clamps_codes = &info == &ops::Clip::record() && operands.front().tensor.dtype() == DType::i8;
  const bool reads_codes = &info == &ops::OnnxDequantizeLinear::record();
  return clamps_codes || reads_codes || trait == Trait::to_codes || trait == Trait::to_codes_and_back;
}

}  // namespace

std::vector<Operand> Builder::make(const Node& node, std::string_view op, std::vector<Operand> operands,
                                   Attributes attributes) {
  const OpInfo* info = find_operator(op);
  if (info == nullptr) fail(errors::operator_unavailable(node.where(), op));
  try {
    size_t bytes = 0;
    for (const Operand& operand : operands) bytes += operand.known() ? operand.tensor.bytes() : 0;
    const bool all_known = std::all_of(operands.begin(), operands.end(), is_known);
    if (all_known && binding_.evaluate && bytes <= kMaxComputed && !is_quantizer(*info, operands)) {
      if (result_bytes(*info, attributes, operands, node.where()) <= kMaxComputed)
        return compute(*info, attributes, operands);
    }
    return insert(node, *info, operands, std::move(attributes));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    throw refused_by_operator(node, error);
  }
}

Operand Builder::make_one(const Node& node, std::string_view op, std::vector<Operand> operands, Attributes attributes) {
  return make(node, op, std::move(operands), std::move(attributes)).at(0);
}

std::vector<Operand> Builder::compute(const OpInfo& info, const Attributes& attributes,
                                      const std::vector<Operand>& operands) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.there() ? contents(operand) : Tensor());
  std::vector<Operand> results;
  for (Tensor& tensor : binding_.evaluate(info, attributes, tensors)) results.push_back(known(std::move(tensor)));
  return results;
}

std::vector<Operand> Builder::insert(const Node& node, const OpInfo& info, const std::vector<Operand>& operands,
                                     Attributes attributes) {
  OpSpec spec = spec_of(node, info, std::move(attributes));
  for (const Operand& operand : operands) {
    const auto port = static_cast<int>(spec.operands.size());
    const bool is_state = std::ranges::any_of(info.outputs, [&](const auto& out) { return out.state_of == port; });
    spec.operands.push_back(is_state ? state_of(operand) : value_of(readable(node, operand)));
  }
  const Op op = model_.graph.insert(std::move(spec), regions_.block());
  made_.insert(op.name());
  trials_.add(op);
  std::vector<Operand> results;
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    Operand result;
    result.value = op.out(static_cast<int>(port));
    results.push_back(result);
  }
  return results;
}

OpSpec Builder::spec_of(const Node& node, const OpInfo& info, Attributes attributes) {
  // Nodes of iterations repeat, so a separate counter avoids the search for a free name.
  std::string hint = node.name() + "." + info.name;
  if (model_.graph.op(hint)) hint += fmt::format(".{}", ++names_);
  const Location source = node.source();
  return {&info, {}, std::move(attributes), hint, source.line > 0 ? source : Location{file_, number_}};
}

Operand Builder::reshaped(const Node& node, const Operand& operand, Dims dims) {
  if (operand.known() && std::none_of(dims.begin(), dims.end(), [](int64_t d) { return d <= 0; }) &&
      count_elements(dims) == operand.tensor.size())
    return known(operand.tensor.reshaped(dims), operand.name);
  if (operand.type().is_static() && operand.dims() == dims) return operand;
  return make_one(node, "reshape", {operand}, {{"dims", dims}});
}

// ---- contents

Tensor Builder::contents(const Operand& operand) {
  if (operand.known()) return operand.tensor;
  if (operand.elements) {
    if (operand.elements->known()) return operand.elements->tensor();
    fail(errors::depends_on_extents("it"));
  }
  if (operand.lost) fail(errors::depends_on_unsupported());
  if (!operand.value) fail(errors::part_missing("", "an input"));
  if (const auto list = operand.value.producer() ? elements(operand) : std::nullopt) {
    if (list->known()) return list->tensor();
    fail(errors::depends_on_extents("it"));
  }
  return evaluated(operand.value);
}

std::vector<int64_t> Builder::integers(const Node& node, const Operand& operand) {
  return integers_of(contents(operand), node.where());
}

bool Builder::depends_on_a_run(Value value) {
  std::vector<Value> open = {value};
  std::set<const detail::ValueNode*> seen;
  while (!open.empty()) {
    const Value each = open.back();
    open.pop_back();
    if (each.is_tensor() || !seen.insert(each.node()).second) continue;
    const Op op = each.producer();
    if (!op || op.info().flow != Flow::none) return true;
    for (const Value operand : op.operands()) {
      if (operand) open.push_back(operand);
    }
  }
  return false;
}

int64_t Builder::decision(const Node& node, const Operand& operand, bool with_inputs) {
  if (!with_inputs && operand.value && depends_on_a_run(operand.value))
    fail(errors::depends_on_values("it", operand.value.name()));
  const std::vector<int64_t> values = integers(node, operand);
  if (values.size() != 1) fail(errors::input_not_one_element(node.where(), fmt::format("{} elements", values.size())));
  return values[0];
}

Tensor Builder::leaf_contents(Value value) const {
  if (value.is_tensor()) return model_.tensors.at(value.name());
  const auto given = binding_.values.find(value.name());
  if (given == binding_.values.end()) fail(errors::depends_on_values("it", value.name()));
  return given->second;
}

Tensor Builder::evaluated(Value wanted) {
  if (!binding_.evaluate) fail(errors::depends_on_values("it", wanted.name()));
  std::vector<Value> open = {wanted};
  while (!open.empty()) {
    const Value value = open.back();
    const Op op = value.producer();
    if (contents_.contains(value.node())) {
      open.pop_back();
    } else if (!op) {
      contents_[value.node()] = leaf_contents(value);
    } else if (op.info().flow != Flow::none) {
      fail(errors::depends_on_run(value.name()));
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

void Builder::evaluate_op(Op op) {
  std::vector<Tensor> operands;
  for (const Value operand : op.operands())
    operands.push_back(or_nothing(operand ? &contents_.at(operand.node()) : nullptr));
  const std::vector<Tensor> results = binding_.evaluate(op.info(), op.attributes(), operands);
  for (const Value result : op.results()) contents_[result.node()] = results[static_cast<size_t>(result.port())];
}

void finish(Model& model) {
  for (const Value tensor : model.graph.tensors()) {
    if (!tensor.unused()) continue;
    model.tensors.erase(tensor.name());
    model.graph.erase_tensor(tensor.name());
  }
  verify(model.graph);
  check(model);
}

}  // namespace halfstep::formats
