#include "halfstep/core/ir/flops.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/inspection.h"
#include "halfstep/report/target.h"

namespace halfstep::report {
namespace {

nlohmann::ordered_json operands_json(const runtime::ProgramSpec& spec, const std::vector<runtime::Operand>& operands) {
  auto json = nlohmann::ordered_json::object();
  for (const runtime::Operand& operand : operands) {
    if (operand.slot >= 0) json[operand.port].push_back(spec.slots[static_cast<size_t>(operand.slot)].name);
  }
  return json;
}

nlohmann::ordered_json instruction_json(const runtime::ProgramSpec& spec, const runtime::Instruction& instruction) {
  auto refused = nlohmann::ordered_json::object();
  for (const runtime::Refusal& refusal : instruction.refused) refused[refusal.kernel] = refusal.reason;
  return {{"name", instruction.name},
          {"op", instruction.op},
          {"location", instruction.location},
          {"place", to_string(instruction.place)},
          {"kernel", instruction.kernel == nullptr ? "copy" : instruction.kernel->name},
          {"refused", refused},
          {"in", operands_json(spec, instruction.in)},
          {"out", operands_json(spec, instruction.out)},
          {"reads_results_of", instruction.data_dependencies},
          {"waits_for_memory_of", instruction.order_dependencies}};
}

nlohmann::ordered_json ports_json(const std::vector<formats::Port>& ports, const std::map<std::string, Dims>& dims) {
  auto json = nlohmann::ordered_json::array();
  for (const formats::Port& port : ports) {
    if (port.has_default) continue;
    json.push_back({{"name", port.name}, {"type", port.type}});
    if (const auto taken = dims.find(port.name); taken != dims.end()) json.back()["taken_as"] = taken->second;
  }
  return json;
}

}  // namespace

std::string as_json(const api::Inspection& found) {
  const runtime::ProgramSpec& spec = found.program;
  nlohmann::ordered_json json = {
      {"stage", name(found.stage)}, {"name", found.model.graph.name()}, {"graph", print(found.model.graph)}};
  const runtime::MemoryReport memory = runtime::memory_of(spec);
  json["memory"] = {{"planned", memory.planned}, {"naive", memory.naive}, {"tensors", memory.tensors}};
  json["instructions"] = nlohmann::ordered_json::array();
  for (const runtime::Instruction& instruction : spec.instructions)
    json["instructions"].push_back(instruction_json(spec, instruction));
  json["values"] = nlohmann::ordered_json::array();
  for (const runtime::Slot& slot : spec.slots)
    json["values"].push_back({{"name", slot.name},
                              {"type", to_string(slot.type)},
                              {"place", to_string(slot.place)},
                              {"bytes", slot.bytes()}});
  if (found.target) json["target"] = object_of(*found.target);
  return to_text(json);
}

std::string as_json(const api::ForeignInspection& found) {
  const formats::Summary& summary = found.summary;
  nlohmann::ordered_json json = {{"schema", kSchema}, {"format", summary.format}, {"producer", summary.producer}};
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
                                   {"reason", issue.what()},
                                   {"count", issue.nodes.size()},
                                   {"nodes", issue.nodes},
                                   {"nearest", issue.nearest},
                                   {"remedy", issue.remedy()},
                                   {"needs_values", issue.needs_values}});
  json["unchecked"] = found.coverage.unchecked;
  if (found.program) {
    const runtime::MemoryReport memory = runtime::memory_of(*found.program);
    json["flops"] = flops(found.model->graph);
    json["memory"] = {{"planned", memory.planned}, {"naive", memory.naive}, {"tensors", memory.tensors}};
  }
  json["seconds"] = found.seconds;
  if (found.target) json["target"] = object_of(*found.target);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace halfstep::report
