#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/compile/compile.h"
#include "halfstep/compile/describe.h"
#include "halfstep/data.h"
#include "halfstep/eager/call.h"
#include "halfstep/foreign_verb.h"
#include "halfstep/formats/import.h"

namespace halfstep {
namespace {

/// Stands for open extents that are not the first, in an inspection alone: an image, or a sentence.
constexpr int64_t kAssumedExtent = 64;

struct Findings {
  formats::Summary summary;
  formats::Coverage coverage;
  std::map<std::string, Dims> dims;  ///< of inputs with open extents, as they were taken
  std::optional<Model> model;        ///< where it can be had without inputs
  int64_t products = 0;              ///< multiplications and additions of weights with values
};

formats::Binding binding_of(const std::map<std::string, Dims>& dims) {
  formats::Binding binding;
  binding.dims = dims;
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  return binding;
}

std::map<std::string, Dims> closed_extents(const formats::Summary& summary, int64_t batch) {
  std::map<std::string, Dims> all;
  for (const formats::Port& port : summary.inputs) {
    Dims dims = port.dims;
    if (port.has_default || std::count(dims.begin(), dims.end(), kUnknown) == 0) continue;
    if (dims[0] == kUnknown) dims[0] = batch;
    std::replace(dims.begin(), dims.end(), kUnknown, kAssumedExtent);
    all[port.name] = dims;
  }
  return all;
}

/// Twice the multiplications of operators with weights, and of products of matrices.
int64_t products_of(const Graph& graph) {
  int64_t all = 0;
  for (const Op op : graph.ops()) {
    const int weight = op.info().quant.trait == "weighted" ? op.info().quant.weight
                       : op.info().name == "matmul"        ? 1
                                                           : -1;
    if (weight < 0 || !op.out(0).type().is_static() || !op.in(weight).type().is_static()) continue;
    const Dims& w = op.in(weight).dims();
    const size_t axis = op.info().name == "matmul" ? w.size() - 1 : static_cast<size_t>(op.info().quant.weight_axis);
    int64_t taps = 1;
    for (size_t i = op.info().name == "matmul" ? w.size() - 2 : 0; i < w.size(); ++i) taps *= i == axis ? 1 : w[i];
    all += 2 * taps * count_elements(op.out(0).dims());
  }
  return all;
}

Findings look_at(const InspectRequest& request) {
  const auto file = formats::open(request.model);
  Findings found{file->summary(), {}, {}, {}, 0};
  found.dims = closed_extents(found.summary, request.batch);
  const formats::Binding binding = binding_of(found.dims);
  found.coverage = file->coverage(binding);
  if (!found.coverage.issues.empty()) return found;
  found.model = file->import(binding);
  found.products = products_of(found.model->graph);
  return found;
}

// ---- text

std::string ports_text(const char* title, const std::vector<formats::Port>& ports) {
  std::string text;
  for (const formats::Port& port : ports) {
    if (!port.has_default) text += fmt::format("{:8}{}: {}\n", title, port.name, port.type);
  }
  return text;
}

std::string summary_text(const Findings& found) {
  const formats::Summary& summary = found.summary;
  std::string text = summary.title + "\n\n";
  text += ports_text("input", summary.inputs) + ports_text("output", summary.outputs);
  for (const auto& [name, dims] : found.dims) text += fmt::format("{:8}{} taken as {}\n", "", name, to_string(dims));
  text += fmt::format("\n{} parameters, {} bytes\n", summary.parameters, summary.parameter_bytes);
  std::vector<std::string> parts;
  for (const auto& [op, count] : summary.operators) parts.push_back(fmt::format("{} {}", op, count));
  return text + fmt::format("{} nodes: {}\n", summary.nodes, fmt::join(parts, ", "));
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  const size_t shown = std::min(names.size(), kShown);
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<int64_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

std::string issues_text(const formats::Coverage& coverage, bool values) {
  std::string text;
  for (const formats::Issue& issue : coverage.issues) {
    if (issue.needs_values == values)
      text +=
          fmt::format("{:5}  {}: {}\n       {}\n", issue.nodes.size(), issue.op, issue.reason, names_text(issue.nodes));
  }
  return text;
}

std::string coverage_text(const formats::Coverage& coverage) {
  if (coverage.issues.empty()) return "\nevery node is supported\n";
  std::string text;
  if (!coverage.complete()) text += "\nnot supported\n" + issues_text(coverage, false);
  const std::string values = issues_text(coverage, true);
  if (!values.empty()) text += "\nsupported by `run` alone, which has the inputs\n" + values;
  if (coverage.unchecked > 0)
    text += fmt::format("\n{} nodes that depend on these were only looked up by their operators\n", coverage.unchecked);
  return text;
}

// ---- JSON

nlohmann::ordered_json ports_json(const std::vector<formats::Port>& ports) {
  auto json = nlohmann::ordered_json::array();
  for (const formats::Port& port : ports) {
    if (!port.has_default) json.push_back({{"name", port.name}, {"type", port.type}});
  }
  return json;
}

nlohmann::ordered_json findings_json(const Findings& found) {
  const formats::Summary& summary = found.summary;
  nlohmann::ordered_json json = {{"format", summary.format}, {"producer", summary.producer}};
  for (const auto& [part, version] : summary.versions) json[part] = version;
  for (const auto& [domain, version] : summary.opsets) json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  json["inputs"] = ports_json(summary.inputs);
  json["outputs"] = ports_json(summary.outputs);
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["nodes"] = summary.nodes;
  json["operators"] = summary.operators;
  json["supported"] = found.coverage.complete();
  json["unsupported"] = nlohmann::ordered_json::array();
  for (const formats::Issue& issue : found.coverage.issues)
    json["unsupported"].push_back({{"operator", issue.op},
                                   {"reason", issue.reason},
                                   {"count", issue.nodes.size()},
                                   {"nodes", issue.nodes},
                                   {"needs_values", issue.needs_values}});
  json["unchecked"] = found.coverage.unchecked;
  return json;
}

}  // namespace

InspectReport inspect_foreign(const InspectRequest& request) {
  const Findings found = look_at(request);
  std::string text = summary_text(found) + coverage_text(found.coverage);
  nlohmann::ordered_json json = findings_json(found);
  if (found.model) {
    CompileOptions options;
    options.place = place_of(request.place);
    const runtime::Program program = compile(*found.model, options);
    const runtime::MemoryReport memory = program.memory();
    text += fmt::format(
        "{} operations in products of weights and matrices; memory: {} bytes planned, {} bytes of tensors\n",
        found.products, memory.planned, memory.tensors);
    json["products"] = found.products;
    json["memory"] = {{"planned", memory.planned}, {"naive", memory.naive}, {"tensors", memory.tensors}};
    if (request.explain) text += "\n" + describe(found.model->graph, program, true);
  }
  return {text, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace halfstep
