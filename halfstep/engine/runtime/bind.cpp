#include "halfstep/engine/runtime/bind.h"

#include <array>

namespace halfstep::runtime {
namespace {

constexpr std::array<int64_t, 1> kOnePiece = {1};

}  // namespace

Binding::Binding(const ProgramSpec& spec, const std::map<Place, DeviceMemory>& arenas, const TensorTable& tensors,
                 const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) {
  for (const Slot& slot : spec.slots) {
    switch (slot.storage) {
      case Storage::arena: addresses_.push_back(arenas.at(slot.place).data() + slot.offset); break;
      case Storage::tensor: addresses_.push_back(tensors.addresses.at(static_cast<size_t>(slot.index))); break;
      case Storage::input:
      case Storage::output:
      case Storage::open: addresses_.push_back(nullptr); break;
    }
  }
  for (const Instruction& instruction : spec.instructions) {
    const bool needed = instruction.plan.scratch > 0;
    scratch_.push_back(needed ? arenas.at(instruction.place).data() + instruction.scratch_offset : nullptr);
  }
  bind_operands(spec);
  cut_segments(spec);
  bind_dependencies(spec);
  for (size_t s = 0; s < segments_.size(); ++s) {
    for (int i = segments_[s].first; i < ends_[s]; ++i)
      segments_[s].tasks.push_back(make_task(static_cast<size_t>(i), spec, worker_scratch));
  }
}

/// Cuts before and after each instruction that runs regions, and at the start of each part.
void Binding::cut_segments(const ProgramSpec& spec) {
  const auto is_flow = [&](int i) { return spec.instructions[static_cast<size_t>(i)].flow != nullptr; };
  const int count = static_cast<int>(spec.instructions.size());
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    const int end = part + 1 < spec.parts.size() ? spec.parts[part + 1] : count;
    for (int first = spec.parts[part]; first < end; first = ends_.back()) {
      int behind = first + 1;
      while (!is_flow(first) && behind < end && !is_flow(behind)) ++behind;
      segments_.push_back({static_cast<int>(part), first, {}});
      ends_.push_back(behind);
    }
  }
}

void Binding::bind_operands(const ProgramSpec& spec) {
  patches_.resize(spec.slots.size());
  for (const Instruction& instruction : spec.instructions) {
    const int task = static_cast<int>(in_.size());
    auto& in = in_.emplace_back();
    auto& out = out_.emplace_back();
    const auto bind = [&](auto& views, const Operand& operand, bool is_output) {
      auto& view = views.emplace_back();
      if (operand.slot < 0) return;
      const auto slot = static_cast<size_t>(operand.slot);
      view = {addresses_[slot], spec.slots[slot].type.dtype, spec.slots[slot].type.dims};
      if (spec.slots[slot].storage == Storage::input || spec.slots[slot].storage == Storage::output)
        patches_[slot].push_back({task, static_cast<int>(views.size()) - 1, is_output});
    };
    for (const Operand& operand : instruction.in) bind(in, operand, false);
    for (const Operand& operand : instruction.out) bind(out, operand, true);
  }
}

void Binding::bind_dependencies(const ProgramSpec& spec) {
  readers_.resize(spec.instructions.size());
  followers_.resize(spec.instructions.size());
  dependencies_.resize(spec.instructions.size());
  for (size_t s = 0; s < segments_.size(); ++s) {
    const int first = segments_[s].first;
    for (int i = first; i < ends_[s]; ++i) {
      const auto depend = [&](const std::vector<int>& on, std::vector<std::vector<int>>& successors) {
        for (const int before : on) {
          if (before < first) continue;  // an earlier segment has completed it
          successors[static_cast<size_t>(before)].push_back(i - first);
          ++dependencies_[static_cast<size_t>(i)];
        }
      };
      depend(spec.instructions[static_cast<size_t>(i)].data_dependencies, readers_);
      depend(spec.instructions[static_cast<size_t>(i)].order_dependencies, followers_);
    }
  }
}

Task Binding::make_task(size_t number, const ProgramSpec& spec,
                        const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) const {
  const Instruction& instruction = spec.instructions[number];
  Task task;
  task.device = &device_at(instruction.place);
  task.kernel = instruction.kernel;
  task.call = {instruction.plan.state.get(), in_[number], out_[number], scratch_[number], nullptr};
  task.phases = instruction.kernel == nullptr ? std::span<const int64_t>(kOnePiece) : instruction.plan.phases;
  if (instruction.plan.worker_scratch > 0) task.scratch = &worker_scratch.at(instruction.place);
  task.flops = instruction.flops;
  task.dependencies = dependencies_[number];
  task.readers = readers_[number];
  task.followers = followers_[number];
  if (instruction.kernel == nullptr && instruction.flow == nullptr) {
    const Slot& source = spec.slots[static_cast<size_t>(instruction.in[0].slot)];
    task.source = &device_at(source.place);
    task.bytes = source.bytes();
  }
  return task;
}

void Binding::set_address(int slot, std::byte* address) {
  addresses_[static_cast<size_t>(slot)] = address;
  for (const Patch& patch : patches_[static_cast<size_t>(slot)]) {
    const auto task = static_cast<size_t>(patch.task);
    const auto position = static_cast<size_t>(patch.position);
    if (patch.is_output) {
      out_[task][position].data = address;
    } else {
      in_[task][position].data = address;
    }
  }
}

std::byte* Binding::address(int slot) const { return addresses_[static_cast<size_t>(slot)]; }

}  // namespace halfstep::runtime
