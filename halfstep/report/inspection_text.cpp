#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/core/ir/flops.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/engine/compile/describe.h"
#include "halfstep/report/common/text_table.h"
#include "halfstep/report/inspection.h"
#include "halfstep/report/target.h"

namespace halfstep::report {
namespace {

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
                        taken == dims.end() ? "" : fmt::format(", assumed {}", to_string(taken->second)));
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

std::string summary_text(const api::ForeignInspection& found) {
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

/// Operations and memory of the program, which do not depend on input values.
std::string program_text(const api::ForeignInspection& found) {
  if (!found.program) return "";
  const runtime::MemoryReport memory = runtime::memory_of(*found.program);
  return fmt::format("{:12}{} per run (a multiply-add counts as two)\n", "operations",
                     grouped(flops(found.model->graph))) +
         fmt::format("{:12}{} of activations at the peak ({} without shared memory), {} of weights at run time\n",
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
  std::string text = fmt::format("  {}: {}\n    {} {}: {}\n", issue.op, issue.what(), issue.nodes.size(),
                                 issue.nodes.size() == 1 ? "node" : "nodes", names_text(issue.nodes));
  if (!issue.nearest.empty()) text += fmt::format("    nearest supported: {}\n", issue.nearest);
  return text + fmt::format("    remedy: {}\n", issue.remedy());
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
  if (!values.empty()) text += "\nsupported only by `run`, which has the inputs\n" + values;
  if (coverage.unchecked > 0)
    text += fmt::format("\nonly the operators were checked of {} nodes after these\n", coverage.unchecked);
  return text + "operations and memory depend on these nodes and are unknown\n";
}

std::string target_text(const std::optional<api::TargetInspection>& target) {
  return target ? "\n" + as_text(*target) : "";
}

/// The shapes assumed for inputs with dynamic dimensions.
std::string assumed_text(const api::Inspection& found) {
  std::string text;
  for (const Value open : found.model.graph.arguments()) {
    const Value closed = found.compiled.graph.value(open.name());
    if (closed && closed.type() != open.type())
      text += fmt::format("assumed {}: {}\n", open.name(), to_string(closed.type()));
  }
  return text;
}

std::string inspection_text(const api::Inspection& found, bool explain) {
  return fmt::format("{} network '{}'\n\n{}{}\n", name(found.stage), found.model.graph.name(), print(found.model.graph),
                     assumed_text(found)) +
         describe(found.compiled.graph, found.program, explain) + target_text(found.target);
}

std::string inspection_text(const api::ForeignInspection& found, bool explain) {
  std::string text = summary_text(found) + program_text(found) +
                     fmt::format("{:12}{}\n", "nodes", found.summary.nodes) + operators_text(found.summary.operators) +
                     nodes_text(found.nodes) + coverage_text(found.coverage);
  if (found.program && explain) text += "\n" + describe(found.model->graph, *found.program, true);
  return text + target_text(found.target);
}

}  // namespace

std::string as_text(const api::Inspection& found) { return inspection_text(found, false); }
std::string as_explained_text(const api::Inspection& found) { return inspection_text(found, true); }

std::string as_text(const api::ForeignInspection& found) { return inspection_text(found, false); }
std::string as_explained_text(const api::ForeignInspection& found) { return inspection_text(found, true); }

}  // namespace halfstep::report
