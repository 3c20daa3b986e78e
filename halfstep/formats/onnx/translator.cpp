#include "halfstep/formats/onnx/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/forms.h"
#include "halfstep/formats/onnx/module_names.h"

namespace halfstep::formats::onnx {
namespace {

/// Versions of ONNX's own operators for which the records and functions were written.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

const Form* find_form(const Node& node) {
  const auto forms = all_forms();
  const auto found = std::find_if(forms.begin(), forms.end(),
                                  [&](const Form& f) { return f.op == node.op() && f.domain == node.domain(); });
  return found == forms.end() ? nullptr : &*found;
}

ForeignOp foreign_op(const Node& node) { return {"onnx", node.domain(), node.op(), node.version()}; }

bool is_there(const Node& node) { return find_form(node) != nullptr || find_entry(foreign_op(node)).has_value(); }

/// Throws unless the input is a tensor.
Declared declared_input(const proto::ValueInfo& input, const std::string& where) {
  if (!input.type().has_tensor_type()) fail(errors::not_a_tensor(where, "a sequence, a map or an optional"));
  const auto& declared = input.type().tensor_type();
  Declared found{{dtype_of(declared.elem_type(), where), {}}};
  for (const proto::Shape::Dimension& dim : declared.shape().dim()) {
    found.type.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknown);
    found.extents.push_back(dim.dim_param());
  }
  return found;
}

}  // namespace

Translator::Translator(const OnnxFile& file, const Binding& binding, Model& model, Coverage* survey)
    : Builder(file.name(), binding, model, survey), file_(file), opsets_(&file.opsets()) {
  for (const proto::Function& function : file.model().functions())
    functions_.emplace(std::pair(plain_domain(function.domain()), function.name()), &function);
}

void Translator::run() {
  const proto::Graph& graph = file_.graph();
  const Inside inside(scopes_);
  add_initializers(graph);
  add_inputs(graph);
  if (!surveys()) {
    // Rejects unknown operators before any supported node is computed.
    for (const proto::Node& node : graph.node()) look_up(node_of(node));
  }
  translate_all(graph.node());
  if (!surveys()) set_outputs(graph);
}

// ---- names

void Translator::define(const std::string& name, Operand operand, const std::string& where) {
  if (!scopes_.define(name, std::move(operand))) fail(errors::name_defined_twice(where, name));
}

Operand Translator::lookup(const std::string& name, const std::string& where) {
  if (const Operand* operand = scopes_.find(name)) return *operand;
  fail(errors::value_read_before_made(where, name));
}

void Translator::add_initializers(const proto::Graph& graph) {
  for (const proto::TensorData& tensor : graph.initializer()) {
    if (binding().values.contains(tensor.name()) && scopes_.depth() == 1) continue;
    const auto load = [this, &tensor] {
      return file_.contents(tensor, fmt::format("{}: tensor '{}'", file_.name(), tensor.name()));
    };
    if (!scopes_.define(tensor.name(), load)) fail(errors::name_defined_twice(file_.name(), tensor.name()));
  }
  if (graph.sparse_initializer_size() > 0) fail(errors::sparse_initializers(file_.name()));
}

void Translator::add_inputs(const proto::Graph& graph) {
  std::set<std::string> seen;
  for (const proto::ValueInfo& input : graph.input()) {
    if (!seen.insert(input.name()).second) fail(errors::name_defined_twice(file_.name(), input.name()));
    if (scopes_.has(input.name())) continue;  // it is an initializer, which is the default of the input
    const std::string where = fmt::format("{}: input '{}'", file_.name(), input.name());
    const bool has_rank = input.type().tensor_type().has_shape();
    define(input.name(), add_input(input.name(), has_rank, [&] { return declared_input(input, where); }), file_.name());
  }
}

void Translator::set_outputs(const proto::Graph& graph) {
  std::vector<Operand> operands;
  std::vector<std::string> names;
  for (const proto::ValueInfo& output : graph.output()) {
    const std::string where = fmt::format("{}: output '{}'", file_.name(), output.name());
    const Operand operand = lookup(output.name(), where);
    if (output.type().has_tensor_type() && output.type().tensor_type().elem_type() != 0 &&
        dtype_of(output.type().tensor_type().elem_type(), where) != operand.type().dtype)
      fail(errors::output_type_differs(where, to_string(operand.type()),
                                       onnx_type_name(output.type().tensor_type().elem_type())));
    operands.push_back(operand);
    names.push_back(output.name());
  }
  Builder::set_outputs(operands, std::move(names));
}

// ---- nodes

void Translator::translate_all(const google::protobuf::RepeatedPtrField<proto::Node>& nodes) {
  for (const proto::Node& node : nodes) translate(node_of(node));
}

Node Translator::node_of(const proto::Node& node) const {
  const std::string domain = plain_domain(node.domain());
  const auto version = opsets_->find(domain);
  const std::string& name = !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
  const std::string line = to_string(source_line(node));
  const std::string where =
      fmt::format("{}: {}{}node '{}': {}", file_.name(), line, line.empty() ? "" : ": ", name, node.op_type());
  if (version == opsets_->end() && domain.empty())
    fail(errors::not_onnx_model(file_.name(), "operator set of the default domain"));
  return {node, version == opsets_->end() ? 1 : version->second, where, call_};
}

void Translator::look_up(const Node& node) const {
  if (functions_.contains({node.domain(), node.op()}) || is_there(node)) return;
  if (node.domain().empty() && (node.op().find("Sequence") != std::string::npos || node.op().starts_with("Optional")))
    fail(errors::not_a_tensor(node.where(), "an operator on sequences or optionals"));
  if (!node.domain().empty() && !opsets_->contains(node.domain()))
    fail(errors::domain_not_supported(node.where(), node.domain()));
  require_entry(node, foreign_op(node));
}

bool Translator::lost_input(const Node& node) {
  for (size_t i = 0; i < node.inputs(); ++i) {
    if (node.has_input(i) && lookup(node.input(i), node.where()).lost) return true;
  }
  return false;
}

void Translator::translate(const Node& node) {
  const bool done = attempt(
      node, scopes_.depth() == 1, [&] { translate_one(node); }, [&] { return lost_input(node); },
      [&] { look_up(node); });
  if (!done) lose(node);
}

void Translator::translate_one(const Node& node) {
  if (node.domain().empty() && (node.version() < kOldestOpset || node.version() > kNewestOpset))
    fail(errors::opset_not_supported(node.where(), node.version(), kOldestOpset, kNewestOpset));
  if (inline_function(node) || translate_elements(node)) return;
  if (const Form* form = find_form(node)) {
    form->translate(*this, node);
    if (const std::string unread = node.unread(); !unread.empty())
      fail(errors::attribute_not_supported(node.where(), unread));
    return;
  }
  look_up(node);
  by_record(node);
}

bool Translator::translate_elements(const Node& node) {
  std::vector<Operand> operands = inputs(node);
  const auto is_open = [](const Operand& operand) { return operand.elements.has_value(); };
  if (std::ranges::any_of(operands, is_open)) {
    for (Operand& operand : operands) operand.elements = elements(operand);
  }
  const auto elements = fold_elements(node, operands);
  if (!elements) return false;
  Operand result;
  if (elements->known())
    result = known(elements->tensor());
  else
    result.elements = *elements;
  set(node, 0, result);
  return true;
}

void Translator::lose(const Node& node) {
  for (size_t i = 0; i < node.outputs(); ++i) {
    if (node.has_output(i)) scopes_.set(node.output(i), lost());
  }
}

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
  name_result(node, node.output(output), operand, output == 0 ? node.module_names() : std::vector<std::string>());
  define(node.output(output), std::move(operand), node.where());
}

void Translator::set_all(const Node& node, const std::vector<Operand>& operands) {
  for (size_t i = 0; i < node.outputs(); ++i) {
    if (!node.has_output(i)) continue;
    if (i >= operands.size() || !operands[i].there()) fail(errors::output_not_supported(node.where(), i));
    set(node, i, operands[i]);
  }
}

std::vector<Operand> Translator::by_record(const Node& node, const std::vector<Operand>& inputs) {
  return by_entry(node, inputs, require_entry(node, foreign_op(node)));
}

// ---- nested graphs

const proto::Graph& Translator::graph_of(const Node& node, std::string_view attribute) const {
  const auto* value = node.attribute(attribute);
  if (value == nullptr || !value->has_g())
    fail(errors::part_missing(node.where(), fmt::format("the graph {}", attribute)));
  return value->g();
}

void Translator::require_nesting(const Node& node) const {
  if (scopes_.depth() > kMaxNesting) fail(errors::nested_too_deep(node.where(), "graphs and functions", kMaxNesting));
}

std::vector<Operand> Translator::inline_graph(const Node& node, const proto::Graph& graph,
                                              const std::vector<Operand>& arguments) {
  if (static_cast<size_t>(graph.input_size()) != arguments.size())
    fail(errors::wrong_count(node.where(), "inputs of its graph", graph.input_size(), arguments.size()));
  const Inside inside(scopes_);
  require_nesting(node);
  add_initializers(graph);
  for (size_t i = 0; i < arguments.size(); ++i)
    define(graph.input(static_cast<int>(i)).name(), arguments[i], node.where());
  translate_all(graph.node());
  std::vector<Operand> outputs;
  for (const proto::ValueInfo& output : graph.output()) outputs.push_back(lookup(output.name(), node.where()));
  return outputs;
}

/// State inside of a function during its lifetime.
class Translator::Call {
 public:
  Call(Translator& translator, AttributeValues attributes, const std::map<std::string, int64_t>& opsets)
      : translator_(translator),
        inside_(translator.scopes_, Scopes::Border::closed),
        attributes_(std::exchange(translator.call_, std::move(attributes))),
        opsets_(std::exchange(translator.opsets_, &opsets)) {}
  ~Call() {
    translator_.call_ = std::move(attributes_);
    translator_.opsets_ = opsets_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Translator& translator_;
  Inside inside_;
  AttributeValues attributes_;
  const std::map<std::string, int64_t>* opsets_;
};

bool Translator::inline_function(const Node& node) {
  const auto found = functions_.find({node.domain(), node.op()});
  if (found == functions_.end()) return false;
  const std::vector<Operand> outputs = results_of(node, *found->second);
  for (size_t i = 0; i < node.outputs() && i < outputs.size(); ++i) {
    if (node.has_output(i)) set(node, i, outputs[i]);
  }
  return true;
}

std::vector<Operand> Translator::results_of(const Node& node, const proto::Function& function) {
  const std::vector<Operand> arguments = inputs(node);
  AttributeValues attributes = node.attributes();
  for (const proto::NodeAttribute& otherwise : function.attribute_proto())
    attributes.emplace(otherwise.name(), &otherwise);
  const auto opsets = opsets_of(function.opset_import(), node.where());
  const Call call(*this, std::move(attributes), opsets);
  require_nesting(node);
  for (int i = 0; i < function.input_size(); ++i) {
    const auto position = static_cast<size_t>(i);
    define(function.input(i), position < arguments.size() ? arguments[position] : Operand(), node.where());
  }
  translate_all(function.node());
  std::vector<Operand> outputs;
  for (const std::string& output : function.output()) outputs.push_back(lookup(output, node.where()));
  return outputs;
}

}  // namespace halfstep::formats::onnx
