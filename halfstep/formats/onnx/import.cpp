// Summary, coverage and import of an ONNX file.
#include <fmt/ranges.h>

#include <set>

#include "halfstep/formats/builder/nearest_form.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/forms.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

/// Returns "" for a tensor, and for a value without a declared type.
std::string other_type(const proto::ValueType& type) {
  if (type.has_sequence_type()) return "sequence";
  if (type.has_map_type()) return "map";
  if (type.has_optional_type()) return "optional";
  return type.has_sparse_tensor_type() ? "sparse tensor" : "";
}

Port port_of(const proto::ValueInfo& info) {
  Port port{info.name(), other_type(info.type()), {}, false, false};
  port.is_tensor = port.type.empty();
  if (!port.is_tensor) return port;
  if (!info.type().has_tensor_type()) {
    port.type = "without a type";
    return port;
  }
  const auto& tensor = info.type().tensor_type();
  std::string extents;
  for (const proto::Shape::Dimension& dim : tensor.shape().dim()) {
    port.dims.push_back(dim.has_dim_value() ? dim.dim_value() : kUnknown);
    const std::string shown = dim.has_dim_value()   ? std::to_string(dim.dim_value())
                              : dim.has_dim_param() ? dim.dim_param()
                                                    : "?";
    extents += (extents.empty() ? "" : ", ") + shown;
  }
  port.type = onnx_type_name(tensor.elem_type()) + (tensor.has_shape() ? "[" + extents + "]" : "");
  return port;
}

void count_nodes(const google::protobuf::RepeatedPtrField<proto::Node>& nodes, Summary& summary) {
  for (const proto::Node& node : nodes) {
    ++summary.nodes;
    const std::string domain = plain_domain(node.domain());
    ++summary.operators[domain.empty() ? node.op_type() : domain + "." + node.op_type()];
    for (const proto::NodeAttribute& a : node.attribute()) {
      if (a.has_g()) count_nodes(a.g().node(), summary);  // the wire scanner limits the depth
    }
  }
}

void count_parameters(const proto::Graph& graph, Summary& summary) {
  for (const proto::TensorData& tensor : graph.initializer()) {
    int64_t count = 1;
    for (const int64_t extent : tensor.dims()) {
      if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) count = 0;
    }
    const auto dtype = find_dtype(tensor.data_type());
    int64_t bits = 0;
    if (dtype && !__builtin_mul_overflow(count, bits_of(*dtype), &bits)) summary.parameter_bytes += bits / 8;
    summary.parameters += count;
  }
}

/// Names only the domains that nodes use, because exporters declare others too.
std::string title_of(const Summary& summary, int64_t ir_version) {
  std::vector<std::string> parts;
  for (const auto& [domain, version] : summary.opsets) {
    const auto first = summary.operators.lower_bound(domain + ".");
    const bool used = first != summary.operators.end() && first->first.starts_with(domain + ".");
    if (domain.empty() || used) parts.push_back(fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
  }
  return fmt::format("ONNX file of {}, IR version {}, opset {}",
                     summary.producer.empty() ? "an unnamed producer" : summary.producer, ir_version,
                     fmt::join(parts, ", "));
}

/// Adds the nearest supported form to each issue that neither inputs nor extents would resolve. An issue has the domain
/// before the operator.
void add_nearest(Coverage& coverage) {
  constexpr size_t kMostOperators = 1000;  // bounds the time for hostile files
  std::vector<FormText> forms;
  for (const Form& form : all_forms()) forms.push_back({form.domain, form.op, form.doc});
  const SupportedForms supported("onnx", forms);
  std::map<std::string, std::string> known;
  for (Issue& issue : coverage.issues) {
    const bool too_many = known.size() == kMostOperators && !known.contains(issue.op);
    if (issue.needs_values || issue.needs_extents || too_many) continue;
    const auto [nearest, is_new] = known.emplace(issue.op, "");
    const size_t dot = issue.op.rfind('.');
    if (is_new)
      nearest->second = dot == std::string::npos ? supported.nearest("", issue.op)
                                                 : supported.nearest(issue.op.substr(0, dot), issue.op.substr(dot + 1));
    issue.nearest = nearest->second;
  }
}

}  // namespace

std::shared_ptr<const File> open(const std::filesystem::path& path) { return OnnxFile::open(path); }

std::shared_ptr<const File> parse(std::span<const std::byte> bytes, const std::string& name) {
  return OnnxFile::parse(bytes, name);
}

Summary OnnxFile::summary() const {
  Summary summary;
  summary.format = "onnx";
  summary.producer =
      model_.producer_name() + (model_.producer_version().empty() ? "" : " " + model_.producer_version());
  summary.versions = {{"ir_version", model_.ir_version()}};
  summary.opsets = opsets_;
  std::set<std::string> initialized;
  for (const proto::TensorData& tensor : graph().initializer()) initialized.insert(tensor.name());
  for (const proto::ValueInfo& input : graph().input()) {
    summary.inputs.push_back(port_of(input));
    summary.inputs.back().has_default = initialized.contains(input.name());
  }
  for (const proto::ValueInfo& output : graph().output()) summary.outputs.push_back(port_of(output));
  count_nodes(graph().node(), summary);
  for (const proto::Function& function : model_.functions()) count_nodes(function.node(), summary);
  count_parameters(graph(), summary);
  summary.title = title_of(summary, model_.ir_version());
  return summary;
}

Coverage OnnxFile::coverage(const Binding& binding) const {
  Model model;
  Coverage found;
  Translator(*this, binding, model, &found).run();
  add_nearest(found);
  return found;
}

Model OnnxFile::import(const Binding& binding) const {
  Model model;
  model.graph.set_name(graph().name().empty() ? "graph" : graph().name());
  Translator(*this, binding, model, nullptr).run();
  finish(model);
  return model;
}

}  // namespace halfstep::formats::onnx
