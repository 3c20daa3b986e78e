#include "halfstep/engine/runtime/execution_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/core/base/system_memory.h"
#include "halfstep/engine/runtime/errors.h"
#include "halfstep/engine/runtime/failure.h"
#include "halfstep/engine/runtime/flow.h"
#include "halfstep/engine/runtime/interpreter.h"
#include "halfstep/engine/runtime/value_range.h"

namespace halfstep::runtime {
namespace {

std::map<Place, DeviceMemory> allocate_arenas(const ProgramSpec& spec) {
  std::map<Place, DeviceMemory> arenas;
  for (const auto& [place, bytes] : spec.arenas) {
    if (bytes > machine_memory())
      fail(errors::program_exceeds_memory(fmt::format("graph '{}'", spec.name),
                                          fmt::format("values of {} bytes at once on {}", bytes, to_string(place)),
                                          machine_memory()));
  }
  for (const auto& [place, bytes] : spec.arenas) arenas.emplace(place, DeviceMemory(device_at(place), bytes));
  return arenas;
}

/// The largest scratch memory of a worker by device. Devices without scratch memory are left out.
std::map<Place, size_t> worker_scratch_bytes(const ProgramSpec& spec) {
  std::map<Place, size_t> bytes;
  for (const Instruction& instruction : spec.instructions) {
    if (instruction.plan.worker_scratch == 0) continue;
    if (instruction.plan.worker_scratch > machine_memory())
      fail(errors::program_exceeds_memory(
          fmt::format("graph '{}': node '{}': {}", spec.name, instruction.name, instruction.op),
          fmt::format("{} bytes of scratch memory", instruction.plan.worker_scratch), machine_memory()));
    size_t& most = bytes[instruction.place];
    most = std::max(most, instruction.plan.worker_scratch);
  }
  return bytes;
}

std::map<Place, std::vector<DeviceMemory>> places_of(const std::map<Place, size_t>& bytes) {
  std::map<Place, std::vector<DeviceMemory>> places;
  for (const auto& [place, most] : bytes) places[place];
  return places;
}

}  // namespace

Frame::Frame(const ProgramSpec& spec, const TensorTable& tensors)
    : spec_(spec),
      arenas_(allocate_arenas(spec)),
      scratch_bytes_(worker_scratch_bytes(spec)),
      worker_scratch_(places_of(scratch_bytes_)),
      binding_(spec, arenas_, tensors, worker_scratch_),
      steps_(spec.parts.size()),
      open_values_(static_cast<size_t>(spec.open_values)) {
  for (Segment& segment : binding_.take_segments()) {
    Step& step = steps_[static_cast<size_t>(segment.part)].emplace_back();
    step.first = segment.first;
    const Instruction* instruction =
        segment.tasks.size() == 1 ? &spec.instructions[static_cast<size_t>(segment.first)] : nullptr;
    if (instruction != nullptr && instruction->flow != nullptr) {
      step.flow = std::make_unique<FlowRunner>(*instruction, spec, tensors);
      step.flow_task = std::move(segment.tasks);
    } else {
      step.tasks = std::make_unique<Interpreter>(std::move(segment.tasks));
    }
  }
}

Frame::~Frame() = default;

void Frame::feed(const Port& input, const std::byte* contents) {
  const Slot& to = slot(input);
  if (to.storage == Storage::input) {
    // The const_cast is safe: no instruction writes to an input's slot.
    binding_.set_address(input.slot, const_cast<std::byte*>(contents));
  } else {
    check_copied(device_at(to.place).upload(binding_.address(input.slot), contents, to.bytes()));
  }
}

void Frame::give(const Port& output, std::byte* memory) {
  const Slot& to = slot(output);
  if (to.storage == Storage::output && &spec_.outputs[static_cast<size_t>(to.index)] == &output)
    binding_.set_address(output.slot, memory);
}

void Frame::fetch(const Port& output, std::byte* memory) const {
  const Slot& from = slot(output);
  const std::byte* address = binding_.address(output.slot);
  if (address == memory) return;
  if (from.storage == Storage::input || from.storage == Storage::output) {
    std::memcpy(memory, address, from.bytes());
  } else {
    check_copied(device_at(from.place).download(memory, address, from.bytes()));
  }
}

const Tensor* Frame::open_value(int slot) const {
  const Slot& what = spec_.slots[static_cast<size_t>(slot)];
  return what.storage == Storage::open ? &open_values_[static_cast<size_t>(what.index)] : nullptr;
}

void Frame::make_worker_scratch(int threads) {
  for (auto& [place, memory] : worker_scratch_) {
    while (memory.size() < static_cast<size_t>(threads))
      memory.emplace_back(device_at(place), scratch_bytes_.at(place));
  }
  for (const std::vector<Step>& steps : steps_) {
    for (const Step& step : steps) {
      if (step.flow != nullptr) step.flow->make_worker_scratch(threads);
    }
  }
}

void Frame::run(size_t part, ThreadPool& pool, Trace* trace) {
  for (const Step& step : steps_.at(part)) {
    if (step.flow != nullptr) {
      run_flow(step, pool, trace);
    } else {
      run_tasks(step, pool, trace);
    }
  }
}

void Frame::run_tasks(const Step& step, ThreadPool& pool, Trace* trace) {
  auto failure = step.tasks->run(pool, trace);
  if (!failure) return;
  failure->instruction += step.first;
  fail(describe_failure(spec_, *failure));
}

void Frame::run_flow(const Step& step, ThreadPool& pool, Trace* trace) {
  const kernels::Call& call = step.flow_task[0].call;
  if (trace == nullptr) return step.flow->run(call, open_values_, pool, nullptr);
  Trace::Timing timing{.begin = now_ns() - trace->origin};
  step.flow->run(call, open_values_, pool, trace);
  timing.end = now_ns() - trace->origin;
  trace->timings.push_back(timing);
  if (!trace->ranges) return;
  std::vector<ValueRange>& results = trace->results.emplace_back();
  for (const kernels::View& result : call.out) results.push_back(range_of(*step.flow_task[0].device, result));
}

}  // namespace halfstep::runtime
