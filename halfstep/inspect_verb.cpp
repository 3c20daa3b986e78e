#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "halfstep/compile/compile.h"
#include "halfstep/compile/describe.h"
#include "halfstep/data.h"
#include "halfstep/foreign_verb.h"
#include "halfstep/formats/import.h"
#include "halfstep/halfstep.h"
#include "halfstep/ir/parse.h"
#include "halfstep/ir/print.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/network.h"

namespace halfstep {
namespace {

Model open_model(const std::filesystem::path& path) {
  if (path.extension() != ".ir") return load_model(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot be read", path.string());
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return train::initialize(parse(text, path.filename().string()), 0);
}

/// Unknown leading extents become `batch`; any other unknown extent stays for specialize to name.
std::map<std::string, Dims> with_batch(const Graph& graph, int64_t batch) {
  std::map<std::string, Dims> dims;
  for (const Value argument : graph.arguments()) {
    Dims known = argument.dims();
    if (!known.empty() && known[0] == kUnknown) known[0] = batch;
    dims[argument.name()] = known;
  }
  return dims;
}

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

std::string program_json(const Model& model, const runtime::Program& program) {
  const runtime::ProgramSpec& spec = program.spec();
  nlohmann::ordered_json json = {
      {"stage", stage_of(model)}, {"name", model.graph.name()}, {"graph", print(model.graph)}};
  const runtime::MemoryReport memory = program.memory();
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
  return json.dump(2) + "\n";
}

}  // namespace

InspectReport inspect_model(const InspectRequest& request) {
  if (request.model.extension() != ".ir" && formats::is_foreign(request.model)) return inspect_foreign(request);
  CompileOptions options;
  options.place = place_of(request.place);
  const Model model = open_model(request.model);
  const Model form = train::evaluation_form(model);
  const std::string text =
      fmt::format("{} network '{}'\n\n{}\n", stage_of(model), model.graph.name(), print(model.graph));
  const Model fixed = specialize(form, with_batch(form.graph, request.batch));
  const runtime::Program program = compile(fixed, options);
  return {text + describe(fixed.graph, program, request.explain), program_json(model, program)};
}

}  // namespace halfstep
