#include "halfstep/formats/onnx/translator.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/forms.h"

namespace halfstep::formats::onnx {
namespace {

/// Graphs and functions inside each other while they are inlined: bounds our own recursion.
constexpr int kMaxDepth = 64;
/// Nodes that are translated altogether, those of iterations counted each time.
constexpr int64_t kMaxTranslated = 400'000;
/// Bytes of tensors that nodes without inputs make.
constexpr size_t kMaxMade = size_t{1} << 30;
/// Versions of ONNX's own operators that the records and functions were written against.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

const Form* find_form(const Node& node) {
  const auto forms = all_forms();
  const auto found = std::find_if(forms.begin(), forms.end(),
                                  [&](const Form& f) { return f.op == node.op() && f.domain == node.domain(); });
  return found == forms.end() ? nullptr : &*found;
}

/// The message without where it happened, which the node's own place says better.
std::string reason_of(const std::string& message, const std::string& where) {
  if (message.starts_with(where + ": ")) return message.substr(where.size() + 2);
  const size_t quoted = message.find("': ");
  if (message.find("node '") != std::string::npos && quoted != std::string::npos) return message.substr(quoted + 3);
  return message;
}

}  // namespace

Translator::Translator(const OnnxFile& file, const Binding& binding, Model& model, Coverage* survey)
    : file_(file), binding_(binding), model_(model), survey_(survey), opsets_(&file.opsets()) {
  for (const proto::Function& function : file.model().functions())
    functions_.emplace(std::pair(plain_domain(function.domain()), function.name()), &function);
}

void Translator::run() {
  const proto::Graph& graph = file_.graph();
  scopes_.emplace_back();
  add_initializers(graph);
  add_inputs(graph);
  translate_all(graph.node());
  if (survey_ == nullptr) set_outputs(graph);
}

// ---- names

void Translator::define(const std::string& name, Operand operand, const std::string& where) {
  if (!scopes_.back().names.emplace(name, Entry{std::move(operand)}).second)
    fail("{}: the name '{}' is defined twice", where, name);
}

Operand Translator::lookup(const std::string& name, const std::string& where) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) {
      Entry& entry = found->second;
      if (entry.pending != nullptr)
        entry = {known(file_.contents(*entry.pending, fmt::format("{}: tensor '{}'", file_.name(), name)), name)};
      return entry.operand;
    }
    if (scope->closed) break;
  }
  fail("{}: '{}' is read before any node gives it: the graph has a cycle, or its nodes are out of order", where, name);
}

void Translator::add_initializers(const proto::Graph& graph) {
  for (const proto::TensorData& tensor : graph.initializer()) {
    if (binding_.values.contains(tensor.name()) && scopes_.size() == 1) continue;
    if (!scopes_.back().names.emplace(tensor.name(), Entry{{}, &tensor}).second)
      fail("{}: the tensor '{}' is there twice", file_.name(), tensor.name());
  }
  if (graph.sparse_initializer_size() > 0) unsupported("{}: sparse initializers are not supported", file_.name());
}

void Translator::add_inputs(const proto::Graph& graph) {
  std::set<std::string> seen;
  for (const proto::ValueInfo& input : graph.input()) {
    if (!seen.insert(input.name()).second) fail("{}: the input '{}' is there twice", file_.name(), input.name());
    if (scopes_.back().names.contains(input.name())) continue;  // an initializer, its default
    try {
      add_input(input);
    } catch (const Error& error) {
      if (survey_ == nullptr || error.kind() != ErrorKind::unsupported) throw;
      survey_->issues.push_back({"input", reason_of(error.what(), file_.name()), false, false, {input.name()}});
      Operand lost;
      lost.lost = true;
      define(input.name(), lost, file_.name());
    }
  }
}

void Translator::add_input(const proto::ValueInfo& input) {
  const std::string where = fmt::format("{}: input '{}'", file_.name(), input.name());
  const auto value = binding_.values.find(input.name());
  if (!input.type().has_tensor_type())
    unsupported("{}: only tensors are supported, no sequences, maps or optionals", where);
  const auto& declared = input.type().tensor_type();
  Type type{dtype_of(declared.elem_type(), where), {}};
  for (const proto::Shape::Dimension& dim : declared.shape().dim())
    type.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknown);
  const auto given = binding_.dims.find(input.name());
  const Dims* dims = value != binding_.values.end() ? &value->second.dims()
                     : given != binding_.dims.end() ? &given->second
                                                    : nullptr;
  if (dims != nullptr) {
    const auto fits = [](int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; };
    if (declared.has_shape() && !std::equal(type.dims.begin(), type.dims.end(), dims->begin(), dims->end(), fits))
      fail("{}: found the extents {}, expected {}", where, to_string(*dims), to_string(type.dims));
    type.dims = *dims;
  } else if (!declared.has_shape()) {
    throw NeedsExtents(where + ": the file does not say how many extents it has");
  }
  if (value != binding_.values.end() && value->second.dtype() != type.dtype)
    fail("{}: found {}, expected {}", where, to_string(value->second.type()), to_string(type));
  Operand operand;
  operand.value = model_.graph.add_argument(input.name(), type);
  define(input.name(), operand, file_.name());
}

void Translator::set_outputs(const proto::Graph& graph) {
  std::vector<Value> values;
  std::vector<std::string> names;
  for (const proto::ValueInfo& output : graph.output()) {
    const std::string where = fmt::format("{}: output '{}'", file_.name(), output.name());
    const Operand operand = lookup(output.name(), where);
    if (output.type().has_tensor_type() && output.type().tensor_type().elem_type() != 0 &&
        dtype_of(output.type().tensor_type().elem_type(), where) != operand.type().dtype)
      fail("{}: found {}, expected {}", where, to_string(operand.type()),
           onnx_type_name(output.type().tensor_type().elem_type()));
    values.push_back(value_of(operand));
    names.push_back(output.name());
  }
  model_.graph.set_outputs(std::move(values), std::move(names));
}

// ---- nodes

void Translator::translate_all(const google::protobuf::RepeatedPtrField<proto::Node>& nodes) {
  if (++depth_ > kMaxDepth)
    unsupported("{}: found more than {} graphs and functions inside each other", file_.name(), kMaxDepth);
  for (const proto::Node& node : nodes) {
    if (++translated_ > kMaxTranslated)
      unsupported("{}: found more than {} nodes with those of all iterations", file_.name(), kMaxTranslated);
    if (scopes_.size() == 1) ++number_;
    const std::string domain = plain_domain(node.domain());
    const auto version = opsets_->find(domain);
    const std::string& name = !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
    const std::string where = fmt::format("{}: node '{}': {}", file_.name(), name, node.op_type());
    if (version == opsets_->end() && domain.empty())
      fail("{}: the file does not say which opset it uses", file_.name());
    translate(Node(node, version == opsets_->end() ? 1 : version->second, where, call_));
  }
  --depth_;
}

bool Translator::lost_input(const Node& node) {
  for (size_t i = 0; i < node.inputs(); ++i) {
    if (node.has_input(i) && lookup(node.input(i), node.where()).lost) return true;
  }
  return false;
}

bool Translator::is_supported(const Node& node) const {
  return functions_.contains({node.domain(), node.op()}) || find_form(node) != nullptr || find_entry(node).has_value();
}

void Translator::translate(const Node& node) {
  made_.clear();
  if (survey_ == nullptr) return translate_one(node);
  const size_t scopes = scopes_.size();
  const auto state = std::tuple(depth_, opsets_, call_);
  try {
    if (!lost_input(node)) return translate_one(node);
    ++survey_->unchecked;
    if (!is_supported(node)) require_entry(node);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    scopes_.resize(scopes);
    std::tie(depth_, opsets_, call_) = state;
    note(node, error);
  }
  lose(node);
}

void Translator::translate_one(const Node& node) {
  if (node.domain().empty() && (node.version() < kOldestOpset || node.version() > kNewestOpset))
    refuse(node, fmt::format("opset {} is not supported, only {} to {}", node.version(), kOldestOpset, kNewestOpset));
  if (inline_function(node) || translate_elements(node)) return;
  if (const Form* form = find_form(node)) {
    form->translate(*this, node);
    if (const auto* unread = node.unread())
      refuse(node, fmt::format("attribute {} = {} is not supported", unread->name(), to_text(*unread)));
    return;
  }
  if (!find_entry(node) && !node.domain().empty() && !opsets_->contains(node.domain()))
    refuse(node, fmt::format("the domain {} is not supported", node.domain()));
  by_record(node);
}

bool Translator::translate_elements(const Node& node) {
  const auto elements = fold_elements(node, inputs(node));
  if (!elements) return false;
  Operand result;
  if (elements->known())
    result = known(elements->tensor());
  else
    result.elements = *elements;
  set(node, 0, result);
  return true;
}

void Translator::note(const Node& node, const Error& error) {
  const std::string op = node.domain().empty() ? node.op() : node.domain() + "." + node.op();
  const std::string reason = reason_of(error.what(), node.where());
  const bool values = dynamic_cast<const NeedsValues*>(&error) != nullptr;
  const bool extents = dynamic_cast<const NeedsExtents*>(&error) != nullptr;
  auto& issues = survey_->issues;
  auto issue =
      std::find_if(issues.begin(), issues.end(), [&](const Issue& i) { return i.op == op && i.reason == reason; });
  if (issue == issues.end()) issue = issues.insert(issue, {op, reason, values, extents, {}});
  issue->nodes.push_back(node.name());
}

void Translator::lose(const Node& node) {
  Operand lost;
  lost.lost = true;
  for (size_t i = 0; i < node.outputs(); ++i) {
    if (node.has_output(i)) scopes_.back().names[node.output(i)] = {lost};
  }
}

void Translator::refuse(const Node& node, const std::string& reason) { unsupported("{}: {}", node.where(), reason); }

Operand Translator::in(const Node& node, size_t i) {
  return node.has_input(i) ? lookup(node.input(i), node.where()) : Operand();
}

std::vector<Operand> Translator::inputs(const Node& node) {
  std::vector<Operand> list;
  for (size_t i = 0; i < node.inputs(); ++i) list.push_back(in(node, i));
  return list;
}

void Translator::set(const Node& node, size_t output, Operand operand) {
  if (!node.has_output(output)) return;
  if (operand.known() && (made_bytes_ += operand.tensor.bytes()) > kMaxMade)
    refuse(node, fmt::format("more than {} MiB of constants that are computed are not supported", kMaxMade >> 20));
  const std::string& name = node.output(output);
  if (operand.value) {
    const Op op = operand.value.producer();
    const Graph& graph = model_.graph;
    const bool free = !graph.op(name) && !graph.value(name);
    if (op && operand.value.port() == 0 && free && made_.erase(op.name()) > 0) model_.graph.rename(op, name);
  } else if (operand.name.empty()) {
    operand.name = name;
  }
  define(name, std::move(operand), node.where());
}

void Translator::set_all(const Node& node, const std::vector<Operand>& operands) {
  for (size_t i = 0; i < node.outputs(); ++i) {
    if (!node.has_output(i)) continue;
    if (i >= operands.size() || !operands[i].there()) refuse(node, fmt::format("output {} is not supported", i));
    set(node, i, operands[i]);
  }
}

Operand Translator::known(Tensor tensor, std::string name) {
  Operand operand;
  operand.tensor = std::move(tensor);
  operand.name = std::move(name);
  return operand;
}

// ---- graphs inside

const proto::Graph& Translator::graph_of(const Node& node, std::string_view attribute) const {
  const auto* value = node.attribute(attribute);
  if (value == nullptr || !value->has_g()) fail("{}: found no graph {}", node.where(), attribute);
  return value->g();
}

std::vector<Operand> Translator::inline_graph(const Node& node, const proto::Graph& graph,
                                              const std::vector<Operand>& arguments) {
  if (static_cast<size_t>(graph.input_size()) != arguments.size())
    fail("{}: its graph has {} inputs, expected {}", node.where(), graph.input_size(), arguments.size());
  scopes_.emplace_back();
  add_initializers(graph);
  for (size_t i = 0; i < arguments.size(); ++i)
    define(graph.input(static_cast<int>(i)).name(), arguments[i], node.where());
  translate_all(graph.node());
  std::vector<Operand> outputs;
  for (const proto::ValueInfo& output : graph.output()) outputs.push_back(lookup(output.name(), node.where()));
  scopes_.pop_back();
  return outputs;
}

bool Translator::inline_function(const Node& node) {
  const auto found = functions_.find({node.domain(), node.op()});
  if (found == functions_.end()) return false;
  const proto::Function& function = *found->second;
  const std::vector<Operand> arguments = inputs(node);
  AttributeValues call = node.attributes();
  for (const proto::NodeAttribute& otherwise : function.attribute_proto()) call.emplace(otherwise.name(), &otherwise);
  const auto opsets = opsets_of(function.opset_import(), node.where());

  std::swap(call, call_);
  const auto* outer = std::exchange(opsets_, &opsets);
  scopes_.push_back({{}, true});
  for (int i = 0; i < function.input_size(); ++i) {
    const auto position = static_cast<size_t>(i);
    define(function.input(i), position < arguments.size() ? arguments[position] : Operand(), node.where());
  }
  translate_all(function.node());
  std::vector<Operand> outputs;
  for (const std::string& output : function.output()) outputs.push_back(lookup(output, node.where()));
  scopes_.pop_back();
  opsets_ = outer;
  std::swap(call, call_);
  for (size_t i = 0; i < node.outputs() && i < outputs.size(); ++i) {
    if (node.has_output(i)) set(node, i, outputs[i]);
  }
  return true;
}

}  // namespace halfstep::formats::onnx
