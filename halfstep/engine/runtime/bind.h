// Binds the plain data of a program to memory: tasks with addresses.
#pragma once

#include <map>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"
#include "halfstep/engine/runtime/interpreter.h"

namespace halfstep::runtime {

/// Addresses of the tensors of a program.
struct TensorTable {
  TensorTable() = default;
  TensorTable(const std::vector<TensorSpec>& specs_, const std::vector<DeviceMemory>& memory) : specs(specs_) {
    for (const DeviceMemory& tensor : memory) addresses.push_back(tensor.data());
  }

  std::vector<TensorSpec> specs;
  std::vector<std::byte*> addresses;  ///< indexed by tensor number
};

/// Position in a task's call that holds the address of a slot.
struct Patch {
  int task;
  int position;
  bool is_output;
};

/// Instructions of one part of a run that are scheduled together, or a single instruction that runs regions.
struct Segment {
  int part = 0;
  int first = 0;  ///< first instruction
  std::vector<Task> tasks;
};

/// Tasks of a spec and the views they point to. The spec, arenas and tensors must not move.
class Binding {
 public:
  Binding(const ProgramSpec& spec, const std::map<Place, DeviceMemory>& arenas, const TensorTable& tensors,
          const std::map<Place, std::vector<DeviceMemory>>& worker_scratch);

  /// Segments in execution order. Task numbers restart in each segment.
  std::vector<Segment> take_segments() { return std::move(segments_); }

  /// Points every use of an input's or output's slot to `address`.
  void set_address(int slot, std::byte* address);
  /// Address of a slot. For an input or output, the address of the last `set_address`.
  std::byte* address(int slot) const;

 private:
  void bind_operands(const ProgramSpec& spec);
  void cut_segments(const ProgramSpec& spec);
  void bind_dependencies(const ProgramSpec& spec);
  Task make_task(size_t number, const ProgramSpec& spec,
                 const std::map<Place, std::vector<DeviceMemory>>& worker_scratch) const;

  std::vector<std::byte*> addresses_;                ///< indexed by slot
  std::vector<std::vector<kernels::ConstView>> in_;  ///< indexed by instruction
  std::vector<std::vector<kernels::View>> out_;
  std::vector<std::vector<int>> readers_, followers_;  ///< indexed by instruction, numbered within its segment
  std::vector<int> dependencies_;                      ///< indexed by instruction, on instructions of the same segment
  std::vector<std::vector<Patch>> patches_;            ///< indexed by slot
  std::vector<std::byte*> scratch_;                    ///< indexed by instruction
  std::vector<int> ends_;                              ///< indexed by segment: one past its last instruction
  std::vector<Segment> segments_;
};

}  // namespace halfstep::runtime
