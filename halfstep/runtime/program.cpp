#include "halfstep/runtime/program.h"

#include <algorithm>
#include <ranges>

#include "halfstep/base/nearest.h"
#include "halfstep/runtime/check.h"
#include "halfstep/runtime/frame.h"

namespace halfstep::runtime {
namespace {

std::vector<DeviceMemory> upload_tensors(const ProgramSpec& spec, std::span<const Tensor> contents) {
  HS_CHECK(contents.size() == spec.tensors.size());
  std::vector<DeviceMemory> tensors;
  for (size_t i = 0; i < contents.size(); ++i) {
    HS_CHECK(contents[i].type() == spec.tensors[i].type);
    Device& device = device_at(spec.tensors[i].place);
    tensors.emplace_back(device, contents[i].bytes());
    check_copied(device.upload(tensors.back().data(), contents[i].raw(), contents[i].bytes()));
  }
  return tensors;
}

template <std::ranges::range List>
std::vector<std::string> names_of(List&& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}

/// Ports of one part of a run, or of all.
constexpr int kAllParts = -1;
auto ports_of(const std::vector<Port>& ports, int part) {
  return ports | std::views::filter([part](const Port& port) { return part == kAllParts || port.part == part; });
}

bool shares_memory(const Tensor& tensor, const std::map<std::string, Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const auto& other) { return other.second.raw() == tensor.raw(); });
}

}  // namespace

struct Program::Memory {
  Memory(ProgramSpec program, std::span<const Tensor> contents)
      : spec(checked(std::move(program))),
        tensors(upload_tensors(spec, contents)),
        table(spec.tensors, tensors),
        frame(spec, table) {}

  size_t find_tensor(std::string_view name) const;
  Tensor read(size_t tensor) const;
  void begin(int part, const Tensors& inputs, Tensors& outputs, int threads);
  void check_inputs(int part, const Tensors& inputs) const;
  void give(int part, const Tensors& inputs, Tensors& outputs);
  void fetch(int part, Tensors& outputs) const;

  ProgramSpec spec;
  std::vector<DeviceMemory> tensors;
  TensorTable table;
  Frame frame;
};

size_t Program::Memory::find_tensor(std::string_view name) const {
  const auto found = std::find_if(spec.tensors.begin(), spec.tensors.end(),
                                  [&](const TensorSpec& tensor) { return tensor.name == name; });
  if (found == spec.tensors.end())
    fail("graph '{}': the program has no tensor '{}'{}", spec.name, name, did_you_mean(name, names_of(spec.tensors)));
  return static_cast<size_t>(found - spec.tensors.begin());
}

Tensor Program::Memory::read(size_t tensor) const {
  const TensorSpec& what = spec.tensors[tensor];
  Tensor contents(what.type.dtype, what.type.dims);
  check_copied(device_at(what.place).download(contents.raw(), tensors[tensor].data(), contents.bytes()));
  return contents;
}

void Program::Memory::begin(int part, const Tensors& inputs, Tensors& outputs, int threads) {
  check_inputs(part, inputs);
  give(part, inputs, outputs);
  for (const Port& port : ports_of(spec.inputs, part)) frame.feed(port, inputs.find(port.name)->second.raw());
  frame.make_worker_scratch(threads);
}

void Program::Memory::check_inputs(int part, const Tensors& inputs) const {
  size_t known = 0;
  for (const Port& port : ports_of(spec.inputs, part)) known += inputs.count(port.name);
  if (known < inputs.size()) {
    const std::vector<std::string> names = names_of(ports_of(spec.inputs, part));
    const auto unknown = std::ranges::find_if(
        inputs, [&](const auto& given) { return std::ranges::find(names, given.first) == names.end(); });
    fail("graph '{}': '{}' is not an input{}", spec.name, unknown->first, did_you_mean(unknown->first, names));
  }
  for (const Port& port : ports_of(spec.inputs, part)) {
    const auto given = inputs.find(port.name);
    const Type& type = frame.slot(port).type;
    if (given == inputs.end() || !given->second.defined())
      fail("graph '{}': input '{}' is missing, expected {}", spec.name, port.name, to_string(type));
    if (given->second.type() != type) {
      fail("graph '{}': input '{}': found {}, expected {}", spec.name, port.name, to_string(given->second.type()),
           to_string(type));
    }
  }
}

void Program::Memory::give(int part, const Tensors& inputs, Tensors& outputs) {
  for (const Port& port : ports_of(spec.outputs, part)) {
    const Type& type = frame.slot(port).type;
    Tensor& tensor = outputs[port.name];
    if (!type.is_static()) continue;  // made by the run
    if (!tensor.defined() || tensor.type() != type || shares_memory(tensor, inputs))
      tensor = Tensor::uninitialized(type.dtype, type.dims);
    frame.give(port, tensor.raw());
  }
}

void Program::Memory::fetch(int part, Tensors& outputs) const {
  for (const Port& port : ports_of(spec.outputs, part)) {
    Tensor& tensor = outputs.find(port.name)->second;
    if (const Tensor* open = frame.open_value(port.slot)) {
      tensor = open->clone();
    } else {
      frame.fetch(port, tensor.raw());
    }
  }
}

Program::Program(ProgramSpec spec, std::span<const Tensor> contents)
    : memory_(std::make_unique<Memory>(std::move(spec), contents)) {}

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
  memory_->begin(kAllParts, inputs, outputs, pool.threads());
  if (trace != nullptr) {
    trace->timings.clear();
    trace->results.clear();
    trace->regions.clear();
    *trace->room = {};
    trace->origin = now_ns();
  }
  for (size_t part = 0; part < memory_->frame.parts(); ++part) memory_->frame.run(part, pool, trace);
  memory_->fetch(kAllParts, outputs);
}

std::map<std::string, Tensor> Program::run_part(int part, const std::map<std::string, Tensor>& inputs,
                                                ThreadPool& pool) {
  std::map<std::string, Tensor> outputs;
  memory_->begin(part, inputs, outputs, pool.threads());
  memory_->frame.run(static_cast<size_t>(part), pool, nullptr);
  memory_->fetch(part, outputs);
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
    fail("graph '{}': tensor '{}': found {}, expected {}", spec.name, name,
         contents.defined() ? to_string(contents.type()) : "nothing", to_string(what.type));
  }
  if (what.frozen) {
    fail("graph '{}': tensor '{}' is frozen, kernels may have packed it; compile with freeze_tensors off to set it",
         spec.name, name);
  }
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

MemoryReport Program::memory() const {
  MemoryReport report;
  add_arenas(report, memory_->spec);
  for (const TensorSpec& tensor : memory_->spec.tensors)
    report.tensors += static_cast<size_t>(count_elements(tensor.type.dims)) * size_of(tensor.type.dtype);
  return report;
}

}  // namespace halfstep::runtime
