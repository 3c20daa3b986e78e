// Runs the regions of an instruction: a branch, or the iterations of a loop or scan, forward or backward.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/runtime/backward.h"
#include "halfstep/engine/runtime/region.h"

namespace halfstep::runtime {

class FlowRunner {
 public:
  /// `instruction` belongs to `spec`. All three must not move.
  FlowRunner(const Instruction& instruction, const ProgramSpec& spec, const TensorTable& tensors);

  void make_worker_scratch(int threads);
  /// Operands and results are views of host memory. Those with dynamic dimensions are in `open_values`, indexed by
  /// slot. If `trace` is set, region runs are recorded in it. Throws Error, for example "while 'loop', iteration 3:
  /// ...".
  void run(const kernels::Call& call, std::vector<Tensor>& open_values, ThreadPool& pool, Trace* trace);

 private:
  void run_branch(const kernels::Call& call, ThreadPool& pool);
  void run_loop(const kernels::Call& call, ThreadPool& pool);
  void run_scan(const kernels::Call& call, ThreadPool& pool);
  void watch(int64_t iteration) const;
  /// Record for a region run. nullptr if there is no trace or the trace is full.
  RegionRun* note(size_t region, int64_t iteration) const;
  /// Runs a region with known extents. Its frame is bound to the inputs and outputs.
  void run_frame(size_t region, int64_t iteration, ThreadPool& pool) const;
  /// Calls the region watcher, if there is one. `argument(i)` returns input `i` of the region.
  template <class Argument>
  void show(size_t region, int64_t iteration, Argument argument) const;
  void start_iterations(const kernels::Call& call);
  void run_iteration(const kernels::Call& call, ThreadPool& pool, int64_t iteration);
  void finish_iterations(const kernels::Call& call);

  // These work on tensors: for dynamic dimensions and for backward iterations.
  std::vector<Tensor> operands(const kernels::Call& call, const std::vector<Tensor>& open_values) const;
  void give(std::vector<Tensor> results, const kernels::Call& call, std::vector<Tensor>& open_values) const;
  std::vector<Tensor> run_on_tensors(const std::vector<Tensor>& operands, ThreadPool& pool);
  std::vector<Tensor> run_region(size_t number, int64_t iteration, const std::vector<Tensor>& inputs, ThreadPool& pool);
  Iterated iterate(const std::vector<Tensor>& operands, ThreadPool& pool);
  std::vector<Tensor> results_of(Iterated iterated) const;

  const Slot& slot(const Operand& operand) const { return holder_.slots[static_cast<size_t>(operand.slot)]; }
  bool needs_tensors() const;
  int64_t most_iterations() const { return spec_.at_most > 0 ? spec_.at_most : INT64_MAX; }
  /// Number of operands, and of region outputs, before the states.
  size_t conditions() const { return spec_.kind == FlowSpec::Kind::loop ? 1 : 0; }
  /// Calls `run` and adds the name of this instruction and the iteration to its errors. A negative iteration is not
  /// named.
  template <class Run>
  auto named(int64_t iteration, Run run) const;

  const Instruction& instruction_;
  const FlowSpec& spec_;
  const ProgramSpec& holder_;
  const bool on_tensors_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<DeviceMemory> memory_;      ///< two buffers for each state, one for each other output of an iteration
  std::vector<const std::byte*> states_;  ///< current states
  std::vector<std::byte*> given_;         ///< destinations of the outputs of the current iteration
  Trace* trace_ = nullptr;                ///< trace of the current run
};

}  // namespace halfstep::runtime
