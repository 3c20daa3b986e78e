#include "halfstep/runtime/program.h"

#include <algorithm>
#include <ranges>

#include "halfstep/base/nearest.h"
#include "halfstep/base/system_memory.h"
#include "halfstep/runtime/bind.h"
#include "halfstep/runtime/check.h"
#include "halfstep/runtime/failure.h"
#include "halfstep/runtime/interpreter.h"

namespace halfstep::runtime {
namespace {

void check_copied(const Status& status) {
  if (!status.ok()) internal_error(__FILE__, __LINE__, status.message());
}

std::map<Place, DeviceMemory> allocate_arenas(const ProgramSpec& spec) {
  std::map<Place, DeviceMemory> arenas;
  for (const auto& [place, bytes] : spec.arenas) {
    if (bytes > machine_memory())
      unsupported("graph '{}': its values need {} bytes at once on {}, and this machine has {}", spec.name, bytes,
                  to_string(place), machine_memory());
  }
  for (const auto& [place, bytes] : spec.arenas) arenas.emplace(place, DeviceMemory(device_at(place), bytes));
  return arenas;
}

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

/// The largest scratch of a worker, by place; places without are not there.
std::map<Place, size_t> worker_scratch_bytes(const ProgramSpec& spec) {
  std::map<Place, size_t> bytes;
  for (const Instruction& instruction : spec.instructions) {
    if (instruction.plan.worker_scratch == 0) continue;
    if (instruction.plan.worker_scratch > machine_memory())
      unsupported("graph '{}': node '{}': {} needs {} bytes of scratch, and this machine has {}", spec.name,
                  instruction.name, instruction.op, instruction.plan.worker_scratch, machine_memory());
    size_t& most = bytes[instruction.place];
    most = std::max(most, instruction.plan.worker_scratch);
  }
  return bytes;
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
        arenas(allocate_arenas(spec)),
        tensors(upload_tensors(spec, contents)),
        scratch_bytes(worker_scratch_bytes(spec)),
        worker_scratch(scratch_of_places()),
        binding(spec, arenas, tensors, worker_scratch) {}

  const Slot& slot(const Port& port) const { return spec.slots[static_cast<size_t>(port.slot)]; }
  size_t find_tensor(std::string_view name) const;
  Tensor read(size_t tensor) const;
  void begin(int part, const Tensors& inputs, Tensors& outputs, int threads);
  void check_inputs(int part, const Tensors& inputs) const;
  void feed(int part, const Tensors& inputs);
  void bind_outputs(int part, const Tensors& inputs, Tensors& outputs);
  void fetch(int part, const Tensors& inputs, Tensors& outputs) const;
  void make_worker_scratch(int threads);

  ProgramSpec spec;
  std::map<Place, DeviceMemory> arenas;
  std::vector<DeviceMemory> tensors;
  std::map<Place, size_t> scratch_bytes;
  std::map<Place, std::vector<DeviceMemory>> worker_scratch;
  Binding binding;

 private:
  std::map<Place, std::vector<DeviceMemory>> scratch_of_places() const {
    std::map<Place, std::vector<DeviceMemory>> places;
    for (const auto& [place, bytes] : scratch_bytes) places[place];
    return places;
  }
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
  bind_outputs(part, inputs, outputs);
  feed(part, inputs);
  make_worker_scratch(threads);
}

void Program::Memory::check_inputs(int part, const Tensors& inputs) const {
  const std::vector<std::string> names = names_of(ports_of(spec.inputs, part));
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("graph '{}': '{}' is not an input{}", spec.name, name, did_you_mean(name, names));
  }
  for (const Port& port : ports_of(spec.inputs, part)) {
    const auto given = inputs.find(port.name);
    const Type& type = slot(port).type;
    if (given == inputs.end() || !given->second.defined())
      fail("graph '{}': input '{}' is missing, expected {}", spec.name, port.name, to_string(type));
    if (given->second.type() != type) {
      fail("graph '{}': input '{}': found {}, expected {}", spec.name, port.name, to_string(given->second.type()),
           to_string(type));
    }
  }
}

void Program::Memory::feed(int part, const Tensors& inputs) {
  for (const Port& port : ports_of(spec.inputs, part)) {
    const Tensor& tensor = inputs.find(port.name)->second;
    if (slot(port).storage == Storage::input) {
      // Read only: no instruction writes to an input's slot.
      binding.set_address(port.slot, const_cast<std::byte*>(tensor.raw()));
    } else {
      check_copied(device_at(slot(port).place).upload(binding.address(port.slot), tensor.raw(), tensor.bytes()));
    }
  }
}

void Program::Memory::bind_outputs(int part, const Tensors& inputs, Tensors& outputs) {
  for (const Port& port : ports_of(spec.outputs, part)) {
    const Type& type = slot(port).type;
    Tensor& tensor = outputs[port.name];
    if (!tensor.defined() || tensor.type() != type || shares_memory(tensor, inputs))
      tensor = Tensor(type.dtype, type.dims);
    if (slot(port).storage != Storage::output) continue;
    const auto owner = static_cast<size_t>(slot(port).index);
    if (&spec.outputs[owner] == &port) binding.set_address(port.slot, tensor.raw());
  }
}

void Program::Memory::fetch(int part, const Tensors& inputs, Tensors& outputs) const {
  for (const Port& port : ports_of(spec.outputs, part)) {
    Tensor& tensor = outputs.find(port.name)->second;
    const Slot& from = slot(port);
    const auto index = static_cast<size_t>(from.index);
    if (from.storage == Storage::input) {
      std::memcpy(tensor.raw(), inputs.find(spec.inputs[index].name)->second.raw(), tensor.bytes());
    } else if (from.storage != Storage::output) {
      check_copied(device_at(from.place).download(tensor.raw(), binding.address(port.slot), tensor.bytes()));
    } else if (&spec.outputs[index] != &port) {
      std::memcpy(tensor.raw(), outputs.find(spec.outputs[index].name)->second.raw(), tensor.bytes());
    }
  }
}

void Program::Memory::make_worker_scratch(int threads) {
  for (auto& [place, memory] : worker_scratch) {
    while (memory.size() < static_cast<size_t>(threads)) memory.emplace_back(device_at(place), scratch_bytes.at(place));
  }
}

Program::Program(ProgramSpec spec, std::span<const Tensor> contents)
    : memory_(std::make_unique<Memory>(std::move(spec), contents)) {
  for (std::vector<Task>& tasks : memory_->binding.take_parts())
    interpreters_.push_back(std::make_unique<Interpreter>(std::move(tasks)));
}

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
  }
  for (size_t part = 0; part < interpreters_.size(); ++part) interpret(part, pool, trace);
  memory_->fetch(kAllParts, inputs, outputs);
}

std::map<std::string, Tensor> Program::run_part(int part, const std::map<std::string, Tensor>& inputs,
                                                ThreadPool& pool) {
  std::map<std::string, Tensor> outputs;
  memory_->begin(part, inputs, outputs, pool.threads());
  interpret(static_cast<size_t>(part), pool, nullptr);
  memory_->fetch(part, inputs, outputs);
  return outputs;
}

void Program::interpret(size_t part, ThreadPool& pool, Trace* trace) {
  auto failure = interpreters_.at(part)->run(pool, trace);
  if (!failure) return;
  failure->instruction += spec().parts[part];
  throw Error(ErrorKind::bad_input, describe_failure(spec(), *failure));
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

MemoryReport Program::memory() const {
  MemoryReport report;
  report.naive = memory_->spec.naive_bytes;
  for (const auto& [place, bytes] : memory_->spec.arenas) report.planned += bytes;
  for (const TensorSpec& tensor : memory_->spec.tensors)
    report.tensors += static_cast<size_t>(count_elements(tensor.type.dims)) * size_of(tensor.type.dtype);
  return report;
}

}  // namespace halfstep::runtime
