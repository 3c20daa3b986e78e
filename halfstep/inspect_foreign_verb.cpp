#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "halfstep/compile/compile.h"
#include "halfstep/compile/describe.h"
#include "halfstep/data.h"
#include "halfstep/eager/call.h"
#include "halfstep/foreign_verb.h"
#include "halfstep/formats/import.h"
#include "halfstep/formats/node_list.h"
#include "halfstep/ir/flops.h"
#include "halfstep/train/executable.h"

namespace halfstep {
namespace {

/// Stands for open extents that are not the first, in an inspection alone: an image, or a sentence.
constexpr int64_t kAssumedExtent = 64;

struct Findings {
  formats::Summary summary;
  formats::Coverage coverage;
  std::map<std::string, Dims> dims;         ///< of inputs with open extents, as they were taken
  std::optional<Model> model;               ///< where it can be had without inputs
  std::optional<runtime::Program> program;  ///< of the model, as `run` makes it
  std::vector<formats::NodeLine> nodes;     ///< where they are asked for
  std::map<std::string, double> seconds;    ///< that each step took
};

/// Adds what passes from one call to the next.
class StageClock {
 public:
  explicit StageClock(std::map<std::string, double>& seconds) : seconds_(seconds) {}
  void end_of(const std::string& step) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[step] = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::map<std::string, double>& seconds_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

formats::Binding binding_of(const std::map<std::string, Dims>& dims) {
  formats::Binding binding;
  binding.dims = dims;
  binding.evaluate = eager::call;
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

/// What only shows when the whole is put together is an issue as any other.
void build(const formats::File& file, const formats::Binding& binding, const std::string& place, StageClock& clock,
           Findings& found) {
  CompileOptions options;
  options.place = place_of(place);
  try {
    found.model = file.import(binding);
    clock.end_of("import");
    found.program.emplace(compile(train::evaluation_form(*found.model), options));
    clock.end_of("compile");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    found.coverage.issues.push_back({"graph", error.what(), false, false, {found.summary.format}});
  }
}

Findings look_at(const InspectRequest& request) {
  Findings found;
  StageClock clock(found.seconds);
  const auto file = formats::open(request.model);
  clock.end_of("open");
  found.summary = file->summary();
  if (request.nodes) found.nodes = formats::node_list(*file);
  found.dims = closed_extents(found.summary, request.batch);
  const formats::Binding binding = binding_of(found.dims);
  found.coverage = file->coverage(binding);
  clock.end_of("inspect");
  if (found.coverage.issues.empty()) build(*file, binding, request.place, clock, found);
  return found;
}

// ---- text

/// "1,234,567".
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string bytes_text(size_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= size_t{1} << 20) return fmt::format("{:.1f} MiB", number / 0x1p20);
  if (bytes >= size_t{1} << 10) return fmt::format("{:.1f} KiB", number / 0x1p10);
  return fmt::format("{} bytes", bytes);
}

std::string ports_text(const char* title, const std::vector<formats::Port>& ports,
                       const std::map<std::string, Dims>& dims) {
  std::string text;
  for (const formats::Port& port : ports) {
    if (port.has_default) continue;
    const auto taken = dims.find(port.name);
    text += fmt::format("{:12}{}: {}{}\n", title, port.name, port.type,
                        taken == dims.end() ? "" : fmt::format(", here {}", to_string(taken->second)));
  }
  return text;
}

std::string operators_text(const std::map<std::string, int64_t>& operators) {
  size_t width = 0;
  for (const auto& [op, count] : operators) width = std::max(width, op.size());
  std::string text;
  for (const auto& [op, count] : operators) text += fmt::format("  {:{}} {:>6}\n", op, width, count);
  return text;
}

std::string summary_text(const Findings& found) {
  const formats::Summary& summary = found.summary;
  return summary.title + "\n\n" + ports_text("input", summary.inputs, found.dims) +
         ports_text("output", summary.outputs, {}) +
         fmt::format("{:12}{}, {}\n", "parameters", grouped(summary.parameters),
                     bytes_text(static_cast<size_t>(summary.parameter_bytes)));
}

std::string nodes_text(const std::vector<formats::NodeLine>& nodes) {
  std::string text = nodes.empty() ? "" : "\n";
  for (const formats::NodeLine& node : nodes)
    text += fmt::format("{}{}: {} -> {}\n", node.op, node.name.empty() ? "" : " '" + node.name + "'",
                        fmt::join(node.inputs, ", "), fmt::join(node.outputs, ", "));
  return text;
}

/// Of what can be had without inputs.
std::string program_text(const Findings& found) {
  if (!found.program) return "";
  const runtime::MemoryReport memory = found.program->memory();
  return fmt::format("{:12}{} for one run, a multiplication and an addition being two\n", "operations",
                     grouped(flops(found.model->graph))) +
         fmt::format("{:12}{} of activations at their peak ({} without sharing), {} of weights as they are run\n",
                     "memory", bytes_text(memory.planned), bytes_text(memory.naive), bytes_text(memory.tensors));
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  const size_t shown = std::min(names.size(), kShown);
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<int64_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

std::string issue_text(const formats::Issue& issue) {
  std::string text = fmt::format("  {}: {}\n    {} {}: {}\n", issue.op, issue.reason, issue.nodes.size(),
                                 issue.nodes.size() == 1 ? "node" : "nodes", names_text(issue.nodes));
  if (!issue.nearest.empty()) text += fmt::format("    nearest supported: {}\n", issue.nearest);
  return text;
}

std::string issues_text(const formats::Coverage& coverage, bool values) {
  std::string text;
  for (const formats::Issue& issue : coverage.issues) {
    if (issue.needs_values == values) text += issue_text(issue);
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
    text += fmt::format("\nof {} nodes behind these only the operators were looked up\n", coverage.unchecked);
  return text + "operations and memory depend on them, and are not known\n";
}

// ---- JSON

nlohmann::ordered_json ports_json(const std::vector<formats::Port>& ports, const std::map<std::string, Dims>& dims) {
  auto json = nlohmann::ordered_json::array();
  for (const formats::Port& port : ports) {
    if (port.has_default) continue;
    json.push_back({{"name", port.name}, {"type", port.type}});
    if (const auto taken = dims.find(port.name); taken != dims.end()) json.back()["taken_as"] = taken->second;
  }
  return json;
}

nlohmann::ordered_json findings_json(const Findings& found) {
  const formats::Summary& summary = found.summary;
  nlohmann::ordered_json json = {{"format", summary.format}, {"producer", summary.producer}};
  for (const auto& [part, version] : summary.versions) json[part] = version;
  for (const auto& [domain, version] : summary.opsets) json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  json["inputs"] = ports_json(summary.inputs, found.dims);
  json["outputs"] = ports_json(summary.outputs, {});
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["nodes"] = summary.nodes;
  json["operators"] = summary.operators;
  for (const formats::NodeLine& node : found.nodes)
    json["graph"].push_back({{"op", node.op}, {"name", node.name}, {"inputs", node.inputs}, {"outputs", node.outputs}});
  json["supported"] = found.coverage.complete();
  json["unsupported"] = nlohmann::ordered_json::array();
  for (const formats::Issue& issue : found.coverage.issues)
    json["unsupported"].push_back({{"operator", issue.op},
                                   {"reason", issue.reason},
                                   {"count", issue.nodes.size()},
                                   {"nodes", issue.nodes},
                                   {"nearest", issue.nearest},
                                   {"needs_values", issue.needs_values}});
  json["unchecked"] = found.coverage.unchecked;
  if (found.program) {
    const runtime::MemoryReport memory = found.program->memory();
    json["flops"] = flops(found.model->graph);
    json["memory"] = {{"planned", memory.planned}, {"naive", memory.naive}, {"tensors", memory.tensors}};
  }
  json["seconds"] = found.seconds;
  return json;
}

}  // namespace

InspectReport inspect_foreign(const InspectRequest& request) {
  const Findings found = look_at(request);
  std::string text = summary_text(found) + program_text(found) +
                     fmt::format("{:12}{}\n", "nodes", found.summary.nodes) + operators_text(found.summary.operators) +
                     nodes_text(found.nodes) + coverage_text(found.coverage);
  if (found.program && request.explain) text += "\n" + describe(found.model->graph, *found.program, true);
  return {text, findings_json(found).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace halfstep
