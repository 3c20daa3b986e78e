// A compiled graph in memory: instructions over planned buffers, ready to run. Never a file.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/runtime/instruction.h"
#include "halfstep/engine/runtime/trace.h"

namespace halfstep::runtime {

/// Bytes that a program holds between runs.
struct MemoryReport {
  size_t planned = 0;  ///< arenas of all places
  size_t naive = 0;    ///< what they would hold had every value memory of its own
  size_t tensors = 0;  ///< parameters, state and constants, without what kernels packed
};

MemoryReport memory_of(const ProgramSpec& spec);

/// Owns device memory: arenas and tensors. Not for several threads at once.
class Program {
 public:
  /// `contents` by number of tensor.
  Program(ProgramSpec spec, std::vector<Tensor> contents);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  /// Runs all instructions once. Inputs by name, each of its type; throws when one is missing, unknown or of another
  /// type. Outputs are the caller's own. A kernel that fails throws Error with operator, node, operands, places and
  /// source line, after everything that does not depend on it is done: state that was updated stays updated.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs, ThreadPool& pool,
                                    Trace* trace = nullptr);

  /// The same into tensors of an earlier run: those in `outputs` that have the right type are written over, the others
  /// made anew. They share memory neither with inputs nor with each other.
  void run_into(const std::map<std::string, Tensor>& inputs, std::map<std::string, Tensor>& outputs, ThreadPool& pool,
                Trace* trace = nullptr);
  /// The same by number, in the order of the ports of spec().
  void run_into(std::span<const Tensor* const> inputs, std::span<Tensor> outputs, ThreadPool& pool,
                Trace* trace = nullptr);

  /// One part of a run (ProgramSpec::parts), on the inputs that are fed to it; gives the outputs that it makes. Parts
  /// run in order; inputs and outputs of those before stay in memory, as they are, until the last is done.
  std::map<std::string, Tensor> run_part(int part, const std::map<std::string, Tensor>& inputs, ThreadPool& pool);

  /// A copy of a tensor as it now is; throws when there is none of that name.
  Tensor tensor(std::string_view name) const;
  /// Copies of all tensors that the program reads or updates.
  std::map<std::string, Tensor> tensors() const;
  /// Throws when there is no such tensor, when its type is another, or when it is frozen.
  void set_tensor(std::string_view name, const Tensor& contents);

  const ProgramSpec& spec() const;
  const std::vector<Instruction>& instructions() const { return spec().instructions; }
  MemoryReport memory() const { return memory_of(spec()); }

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace halfstep::runtime
