// From the plain data of a program to tasks with addresses.
#pragma once

#include <map>
#include <vector>

#include "halfstep/runtime/instruction.h"
#include "halfstep/runtime/interpreter.h"

namespace halfstep::runtime {

/// A place in a task's call that has a slot's address.
struct Patch {
  int task;
  int position;
  bool is_output;
};

/// Tasks of a spec and the views they point to. The spec, arenas and tensors must stay where they are.
class Binding {
 public:
  Binding(const ProgramSpec& spec, const std::map<Place, DeviceMemory>& arenas,
          const std::vector<DeviceMemory>& tensors, const std::map<Place, std::vector<DeviceMemory>>& worker_scratch);

  std::vector<Task> take_tasks() { return std::move(tasks_); }

  /// Points every use of an input's or output's slot to `address`.
  void set_address(int slot, std::byte* address);
  /// Address of a slot in an arena or of a tensor.
  std::byte* address(int slot) const;

 private:
  void bind_operands(const ProgramSpec& spec);
  void bind_dependencies(const ProgramSpec& spec);
  Task make_task(const Instruction& instruction, const ProgramSpec& spec,
                 const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) const;

  std::vector<std::byte*> addresses_;                ///< by slot
  std::vector<std::vector<kernels::ConstView>> in_;  ///< by instruction
  std::vector<std::vector<kernels::View>> out_;
  std::vector<std::vector<int>> readers_, followers_;
  std::vector<std::vector<Patch>> patches_;  ///< by slot
  std::vector<std::byte*> scratch_;          ///< by instruction
  std::vector<Task> tasks_;
};

}  // namespace halfstep::runtime
