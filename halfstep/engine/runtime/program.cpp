#include "halfstep/engine/runtime/program.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <unordered_map>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/engine/runtime/check.h"
#include "halfstep/engine/runtime/errors.h"
#include "halfstep/engine/runtime/execution_frame.h"

namespace halfstep::runtime {
namespace {

/// Uploads the tensors that instructions read and moves them out of `contents`.
std::vector<DeviceMemory> upload_tensors(const ProgramSpec& spec, std::vector<Tensor>& contents) {
  HS_CHECK(contents.size() == spec.tensors.size());
  std::vector<DeviceMemory> tensors(contents.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    HS_CHECK(contents[i].type() == spec.tensors[i].type);
    if (!spec.tensors[i].read) continue;
    Device& device = device_at(spec.tensors[i].place);
    tensors[i] = DeviceMemory(device, contents[i].bytes());
    check_copied(device.upload(tensors[i].data(), contents[i].raw(), contents[i].bytes()));
    contents[i] = {};
  }
  return tensors;
}

template <std::ranges::range List>
std::vector<std::string> names_of(List&& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}

/// `part` value for a run of all parts.
constexpr int kAllParts = -1;
bool is_of(const Port& port, int part) { return part == kAllParts || port.part == part; }
auto ports_of(const std::vector<Port>& ports, int part) {
  return ports | std::views::filter([part](const Port& port) { return is_of(port, part); });
}

/// If several tensors have one name, the first counts.
std::unordered_map<std::string_view, size_t> numbers_of(const std::vector<TensorSpec>& tensors) {
  std::unordered_map<std::string_view, size_t> numbers;
  for (size_t i = 0; i < tensors.size(); ++i) numbers.emplace(tensors[i].name, i);
  return numbers;
}

bool shares_memory(const Tensor& tensor, std::span<const Tensor* const> others) {
  return std::ranges::any_of(others,
                             [&](const Tensor* other) { return other != nullptr && other->raw() == tensor.raw(); });
}

}  // namespace

struct Program::Memory {
  Memory(ProgramSpec program, std::vector<Tensor> contents)
      : spec(checked(std::move(program))),
        numbers(numbers_of(spec.tensors)),
        packed(std::move(contents)),
        tensors(upload_tensors(spec, packed)),
        table(spec.tensors, tensors),
        frame(spec, table) {}

  size_t find_tensor(std::string_view name) const;
  Tensor read(size_t tensor) const;
  /// Indexed by port number. nullptr if the input is absent or belongs to another part.
  std::vector<const Tensor*> by_number(int part, const Tensors& inputs) const;
  void run(int part, const Tensors& inputs, Tensors& outputs, ThreadPool& pool, Trace* trace);
  void run(int part, std::span<const Tensor* const> inputs, std::span<Tensor> outputs, ThreadPool& pool, Trace* trace);
  void check_inputs(int part, std::span<const Tensor* const> inputs) const;
  void give(int part, std::span<const Tensor* const> inputs, std::span<Tensor> outputs);
  void fetch(int part, std::span<Tensor> outputs) const;

  ProgramSpec spec;
  std::unordered_map<std::string_view, size_t> numbers;  ///< tensor numbers by name
  std::vector<Tensor> packed;  ///< contents that no instruction reads, undefined for the other tensors
  std::vector<DeviceMemory> tensors;
  TensorTable table;
  Frame frame;
};

size_t Program::Memory::find_tensor(std::string_view name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end())
    fail(errors::program_tensor_unknown(spec.name, name, did_you_mean(name, names_of(spec.tensors))));
  return found->second;
}

Tensor Program::Memory::read(size_t tensor) const {
  const TensorSpec& what = spec.tensors[tensor];
  if (!what.read) return packed[tensor].clone();
  Tensor contents = Tensor::uninitialized(what.type.dtype, what.type.dims);
  check_copied(device_at(what.place).download(contents.raw(), tensors[tensor].data(), contents.bytes()));
  return contents;
}

std::vector<const Tensor*> Program::Memory::by_number(int part, const Tensors& inputs) const {
  std::vector<const Tensor*> numbered(spec.inputs.size());
  size_t known = 0;
  for (size_t i = 0; i < numbered.size(); ++i) {
    if (!is_of(spec.inputs[i], part)) continue;
    const auto given = inputs.find(spec.inputs[i].name);
    if (given == inputs.end()) continue;
    numbered[i] = &given->second;
    ++known;
  }
  if (known == inputs.size()) return numbered;
  const std::vector<std::string> names = names_of(ports_of(spec.inputs, part));
  const auto unknown = std::ranges::find_if(
      inputs, [&](const auto& given) { return std::ranges::find(names, given.first) == names.end(); });
  fail(errors::program_input_unknown(spec.name, unknown->first, did_you_mean(unknown->first, names)));
}

void Program::Memory::run(int part, const Tensors& inputs, Tensors& outputs, ThreadPool& pool, Trace* trace) {
  const std::vector<const Tensor*> given = by_number(part, inputs);
  std::vector<Tensor> made;
  for (const Port& port : spec.outputs) made.push_back(is_of(port, part) ? outputs[port.name] : Tensor());
  run(part, given, made, pool, trace);
  for (size_t i = 0; i < made.size(); ++i) {
    if (is_of(spec.outputs[i], part)) outputs[spec.outputs[i].name] = std::move(made[i]);
  }
}

void Program::Memory::run(int part, std::span<const Tensor* const> inputs, std::span<Tensor> outputs, ThreadPool& pool,
                          Trace* trace) {
  HS_CHECK(inputs.size() == spec.inputs.size() && outputs.size() == spec.outputs.size());
  check_inputs(part, inputs);
  give(part, inputs, outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_of(spec.inputs[i], part)) frame.feed(spec.inputs[i], inputs[i]->raw());
  }
  frame.make_worker_scratch(pool.threads());
  if (trace != nullptr) {
    trace->timings.clear();
    trace->results.clear();
    trace->regions.clear();
    *trace->room = {};
    trace->origin = now_ns();
  }
  for (size_t i = 0; i < frame.parts(); ++i) {
    if (part == kAllParts || part == static_cast<int>(i)) frame.run(i, pool, trace);
  }
  fetch(part, outputs);
}

void Program::Memory::check_inputs(int part, std::span<const Tensor* const> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = spec.inputs[i];
    if (!is_of(port, part)) continue;
    const Type& type = frame.slot(port).type;
    if (inputs[i] == nullptr || !inputs[i]->defined())
      fail(errors::program_input_unfit(spec.name, port.name, "nothing", to_string(type)));
    if (inputs[i]->type() != type)
      fail(errors::program_input_unfit(spec.name, port.name, to_string(inputs[i]->type()), to_string(type)));
  }
}

void Program::Memory::give(int part, std::span<const Tensor* const> inputs, std::span<Tensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& port = spec.outputs[i];
    const Type& type = frame.slot(port).type;
    if (!is_of(port, part) || !type.is_static()) continue;  // the run itself allocates outputs with dynamic dimensions
    Tensor& tensor = outputs[i];
    if (!tensor.defined() || tensor.type() != type || shares_memory(tensor, inputs))
      tensor = Tensor::uninitialized(type.dtype, type.dims);
    frame.give(port, tensor.raw());
  }
}

void Program::Memory::fetch(int part, std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& port = spec.outputs[i];
    if (!is_of(port, part)) continue;
    if (const Tensor* open = frame.open_value(port.slot)) {
      outputs[i] = open->clone();
    } else {
      frame.fetch(port, outputs[i].raw());
    }
  }
}

Program::Program(ProgramSpec spec, std::vector<Tensor> contents)
    : memory_(std::make_unique<Memory>(std::move(spec), std::move(contents))) {}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

std::map<std::string, Tensor> Program::run(const std::map<std::string, Tensor>& inputs, ThreadPool& pool,
                                           Trace* trace) {
  std::map<std::string, Tensor> outputs;
  run_into(inputs, outputs, pool, trace);
  return outputs;
}

void Program::run_into(const std::map<std::string, Tensor>& inputs, std::map<std::string, Tensor>& outputs,
                       ThreadPool& pool, Trace* trace) {
  memory_->run(kAllParts, inputs, outputs, pool, trace);
}

void Program::run_into(std::span<const Tensor* const> inputs, std::span<Tensor> outputs, ThreadPool& pool,
                       Trace* trace) {
  memory_->run(kAllParts, inputs, outputs, pool, trace);
}

std::map<std::string, Tensor> Program::run_part(int part, const std::map<std::string, Tensor>& inputs,
                                                ThreadPool& pool) {
  std::map<std::string, Tensor> outputs;
  memory_->run(part, inputs, outputs, pool, nullptr);
  return outputs;
}

Tensor Program::tensor(std::string_view name) const { return memory_->read(memory_->find_tensor(name)); }

std::map<std::string, Tensor> Program::tensors() const {
  std::map<std::string, Tensor> all;
  for (size_t i = 0; i < memory_->spec.tensors.size(); ++i) {
    const std::string& name = memory_->spec.tensors[i].name;
    if (!all.contains(name)) all.emplace(name, memory_->read(i));
  }
  return all;
}

void Program::set_tensor(std::string_view name, const Tensor& contents) {
  const size_t index = memory_->find_tensor(name);
  const ProgramSpec& spec = memory_->spec;
  const TensorSpec& what = spec.tensors[index];
  if (!contents.defined() || contents.type() != what.type) {
    fail(errors::program_tensor_unfit(spec.name, name, contents.defined() ? to_string(contents.type()) : "nothing",
                                      to_string(what.type)));
  }
  if (what.frozen) fail(errors::program_tensor_frozen(spec.name, name));
  check_copied(device_at(what.place).upload(memory_->tensors[index].data(), contents.raw(), contents.bytes()));
}

const ProgramSpec& Program::spec() const { return memory_->spec; }

namespace {

void add_arenas(MemoryReport& report, const ProgramSpec& spec) {
  report.naive += spec.naive_bytes;
  for (const auto& [place, bytes] : spec.arenas) report.planned += bytes;
  for (const Instruction& instruction : spec.instructions) {
    if (instruction.flow == nullptr) continue;
    for (const RegionSpec& region : instruction.flow->regions) {
      if (region.program != nullptr) add_arenas(report, *region.program);
    }
  }
}

}  // namespace

MemoryReport memory_of(const ProgramSpec& spec) {
  MemoryReport report;
  add_arenas(report, spec);
  for (const TensorSpec& tensor : spec.tensors)
    report.tensors += static_cast<size_t>(count_elements(tensor.type.dims)) * size_of(tensor.type.dtype);
  return report;
}

}  // namespace halfstep::runtime
