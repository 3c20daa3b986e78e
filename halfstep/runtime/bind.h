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

  /// By part; tasks are numbered within theirs.
  std::vector<std::vector<Task>> take_parts() { return std::move(parts_); }

  /// Points every use of an input's or output's slot to `address`.
  void set_address(int slot, std::byte* address);
  /// Address of a slot in an arena or of a tensor.
  std::byte* address(int slot) const;

 private:
  void bind_operands(const ProgramSpec& spec);
  void bind_dependencies(const ProgramSpec& spec);
  Task make_task(size_t number, const ProgramSpec& spec,
                 const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) const;

  std::vector<std::byte*> addresses_;                ///< by slot
  std::vector<std::vector<kernels::ConstView>> in_;  ///< by instruction
  std::vector<std::vector<kernels::View>> out_;
  std::vector<std::vector<int>> readers_, followers_;  ///< by instruction, of its part
  std::vector<int> dependencies_;                      ///< by instruction, on those of its part
  std::vector<std::vector<Patch>> patches_;            ///< by slot
  std::vector<std::byte*> scratch_;                    ///< by instruction
  std::vector<std::vector<Task>> parts_;
};

}  // namespace halfstep::runtime
