// From the plain data of a program to tasks with addresses.
#pragma once

#include <map>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"
#include "halfstep/engine/runtime/interpreter.h"

namespace halfstep::runtime {

/// Where the tensors of a program are.
struct TensorTable {
  TensorTable() = default;
  TensorTable(const std::vector<TensorSpec>& specs_, const std::vector<DeviceMemory>& memory) : specs(specs_) {
    for (const DeviceMemory& tensor : memory) addresses.push_back(tensor.data());
  }

  std::vector<TensorSpec> specs;
  std::vector<std::byte*> addresses;  ///< by number
};

/// A place in a task's call that has a slot's address.
struct Patch {
  int task;
  int position;
  bool is_output;
};

/// Instructions of one part of a run that are scheduled together, or one that runs regions, alone.
struct Segment {
  int part = 0;
  int first = 0;  ///< instruction
  std::vector<Task> tasks;
};

/// Tasks of a spec and the views they point to. The spec, arenas and tensors must stay where they are.
class Binding {
 public:
  Binding(const ProgramSpec& spec, const std::map<Place, DeviceMemory>& arenas, const TensorTable& tensors,
          const std::map<Place, std::vector<DeviceMemory>>& worker_scratch);

  /// In order; tasks are numbered within theirs.
  std::vector<Segment> take_segments() { return std::move(segments_); }

  /// Points every use of an input's or output's slot to `address`.
  void set_address(int slot, std::byte* address);
  /// Address of a slot; of an input or output the one that was set last.
  std::byte* address(int slot) const;

 private:
  void bind_operands(const ProgramSpec& spec);
  void cut_segments(const ProgramSpec& spec);
  void bind_dependencies(const ProgramSpec& spec);
  Task make_task(size_t number, const ProgramSpec& spec,
                 const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) const;

  std::vector<std::byte*> addresses_;                ///< by slot
  std::vector<std::vector<kernels::ConstView>> in_;  ///< by instruction
  std::vector<std::vector<kernels::View>> out_;
  std::vector<std::vector<int>> readers_, followers_;  ///< by instruction, of its segment
  std::vector<int> dependencies_;                      ///< by instruction, on those of its segment
  std::vector<std::vector<Patch>> patches_;            ///< by slot
  std::vector<std::byte*> scratch_;                    ///< by instruction
  std::vector<int> ends_;                              ///< by segment: the instruction behind its last
  std::vector<Segment> segments_;
};

}  // namespace halfstep::runtime
