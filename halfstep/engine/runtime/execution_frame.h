// A program's instructions bound to their memory, ready to run. The instructions of a region have their own frame over
// the tensors of the whole program.
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
  /// `spec` and `tensors` must not move.
  Frame(const ProgramSpec& spec, const TensorTable& tensors);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const ProgramSpec& spec() const { return spec_; }
  const Slot& slot(const Port& port) const { return spec_.slots[static_cast<size_t>(port.slot)]; }

  /// Sets the contents of an input for later runs. The host memory must stay valid until they are done.
  void feed(const Port& input, const std::byte* contents);
  /// Sets host memory, aligned to kAlignment, for an output of the next run.
  void give(const Port& output, std::byte* memory);
  /// Call after a run: makes sure that the output is in the memory set by `give`.
  void fetch(const Port& output, std::byte* memory) const;

  /// Result of the last run in a slot with dynamic dimensions. nullptr for other slots.
  const Tensor* open_value(int slot) const;

  /// Call before a run.
  void make_worker_scratch(int threads);
  /// Runs the instructions of one part. Timings are appended to `trace`. Throws Error.
  void run(size_t part, ThreadPool& pool, Trace* trace);

  size_t parts() const { return steps_.size(); }

 private:
  /// Instructions that may run in parallel, or a single instruction that runs regions.
  struct Step {
    int first = 0;  ///< first instruction
    std::unique_ptr<Interpreter> tasks;
    std::unique_ptr<FlowRunner> flow;
    std::vector<Task> flow_task;  ///< operands and results of `flow`
  };

  void run_tasks(const Step& step, ThreadPool& pool, Trace* trace);
  void run_flow(const Step& step, ThreadPool& pool, Trace* trace);

  const ProgramSpec& spec_;
  std::map<Place, DeviceMemory> arenas_;
  std::map<Place, size_t> scratch_bytes_;  ///< bytes for each worker
  std::map<Place, std::vector<DeviceMemory>> worker_scratch_;
  Binding binding_;
  std::vector<std::vector<Step>> steps_;  ///< indexed by part
  std::vector<Tensor> open_values_;
};

}  // namespace halfstep::runtime
