// A program's instructions with the memory that they work on, bound and ready; those of a region have a frame of their
// own, over the tensors of the whole program.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/runtime/bind.h"
#include "halfstep/engine/runtime/device.h"
#include "halfstep/engine/runtime/instruction.h"
#include "halfstep/engine/runtime/trace.h"

namespace halfstep::runtime {

class FlowRunner;

class Frame {
 public:
  /// Both must stay where they are.
  Frame(const ProgramSpec& spec, const TensorTable& tensors);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const ProgramSpec& spec() const { return spec_; }
  const Slot& slot(const Port& port) const { return spec_.slots[static_cast<size_t>(port.slot)]; }

  /// The contents of an input for the runs to come, in host memory that must stay until they are done.
  void feed(const Port& input, const std::byte* contents);
  /// Host memory, aligned to kAlignment, for an output of the next run.
  void give(const Port& output, std::byte* memory);
  /// After a run: makes sure that the output is in the memory that was given.
  void fetch(const Port& output, std::byte* memory) const;

  /// What the last run made in a slot of open extents; nullptr for a slot of another kind.
  const Tensor* open_value(int slot) const;

  /// Before a run.
  void make_worker_scratch(int threads);
  /// Runs the instructions of one part. Timings are added behind those that `trace` has. Throws Error.
  void run(size_t part, ThreadPool& pool, Trace* trace);

  size_t parts() const { return steps_.size(); }

 private:
  /// Instructions that run side by side, or one that runs regions.
  struct Step {
    int first = 0;  ///< instruction
    std::unique_ptr<Interpreter> tasks;
    std::unique_ptr<FlowRunner> flow;
    std::vector<Task> flow_task;  ///< of `flow`: its operands and results
  };

  void run_tasks(const Step& step, ThreadPool& pool, Trace* trace);
  void run_flow(const Step& step, ThreadPool& pool, Trace* trace);

  const ProgramSpec& spec_;
  std::map<Place, DeviceMemory> arenas_;
  std::map<Place, size_t> scratch_bytes_;  ///< of a worker
  std::map<Place, std::vector<DeviceMemory>> worker_scratch_;
  Binding binding_;
  std::vector<std::vector<Step>> steps_;  ///< by part
  std::vector<Tensor> open_values_;
};

}  // namespace halfstep::runtime
