// Runs the regions of an instruction: a branch, the iterations of a loop or of a scan, forward or backward.
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
  /// The instruction is one of `spec`. All must stay where they are.
  FlowRunner(const Instruction& instruction, const ProgramSpec& spec, const TensorTable& tensors);

  void make_worker_scratch(int threads);
  /// Operands and results as views of host memory; those of open extents are among `open_values`, by their slots.
  /// What runs in regions is noted in `trace` where there is one. Throws Error: "while 'loop', iteration 3: ...".
  void run(const kernels::Call& call, std::vector<Tensor>& open_values, ThreadPool& pool, Trace* trace);

 private:
  void run_branch(const kernels::Call& call, ThreadPool& pool);
  void run_loop(const kernels::Call& call, ThreadPool& pool);
  void run_scan(const kernels::Call& call, ThreadPool& pool);
  void watch(int64_t iteration) const;
  /// Where a run of a region is noted; nullptr where nobody wants to know, or enough is known.
  RegionRun* note(size_t region, int64_t iteration) const;
  /// Runs the region of known extents, whose frame has what it reads and writes.
  void run_frame(size_t region, int64_t iteration, ThreadPool& pool) const;
  /// Tells who watches what the region is given; `argument(i)` is its input `i`.
  template <class Argument>
  void show(size_t region, int64_t iteration, Argument argument) const;
  void start_iterations(const kernels::Call& call);
  void run_iteration(const kernels::Call& call, ThreadPool& pool, int64_t iteration);
  void finish_iterations(const kernels::Call& call);

  // On tensors, where extents are open or iterations run backward.
  std::vector<Tensor> operands(const kernels::Call& call, const std::vector<Tensor>& open_values) const;
  void give(std::vector<Tensor> results, const kernels::Call& call, std::vector<Tensor>& open_values) const;
  std::vector<Tensor> run_on_tensors(const std::vector<Tensor>& operands, ThreadPool& pool);
  std::vector<Tensor> run_region(size_t number, int64_t iteration, const std::vector<Tensor>& inputs, ThreadPool& pool);
  Iterated iterate(const std::vector<Tensor>& operands, ThreadPool& pool);
  std::vector<Tensor> results_of(Iterated iterated) const;

  const Slot& slot(const Operand& operand) const { return holder_.slots[static_cast<size_t>(operand.slot)]; }
  bool needs_tensors() const;
  int64_t most_iterations() const { return spec_.at_most > 0 ? spec_.at_most : INT64_MAX; }
  /// Operands, and outputs of a region, in front of the states.
  size_t conditions() const { return spec_.kind == FlowSpec::Kind::loop ? 1 : 0; }
  /// What `run` does, with its errors under the name of this instruction and iteration; none for a negative one.
  template <class Run>
  auto named(int64_t iteration, Run run) const;

  const Instruction& instruction_;
  const FlowSpec& spec_;
  const ProgramSpec& holder_;
  const bool on_tensors_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<DeviceMemory> memory_;      ///< two of each state, one of each other output of an iteration
  std::vector<const std::byte*> states_;  ///< as they now are
  std::vector<std::byte*> given_;         ///< where the outputs of the iteration at hand go
  Trace* trace_ = nullptr;                ///< of the run at hand
};

}  // namespace halfstep::runtime
