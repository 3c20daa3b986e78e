// A compiled graph in memory: instructions over planned buffers, ready to run. It is never saved to a file.
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
  size_t planned = 0;  ///< bytes of the arenas of all devices
  size_t naive = 0;    ///< bytes the arenas would need if no two values shared memory
  size_t tensors = 0;  ///< bytes of parameters, state and constants, without the packed copies of kernels
};

MemoryReport memory_of(const ProgramSpec& spec);

/// Owns device memory: arenas and tensors. A Program is not thread-safe.
class Program {
 public:
  /// `contents` is indexed by tensor number.
  Program(ProgramSpec spec, std::vector<Tensor> contents);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  /// Runs all instructions once. `inputs` maps names to tensors of the compiled types. Throws if an input is missing,
  /// unknown or of another type. The caller owns the outputs. If a kernel fails, all independent instructions still
  /// run. Then this throws an Error with operator, node, operands, devices and source line. State that was updated
  /// stays updated.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs, ThreadPool& pool,
                                    Trace* trace = nullptr);

  /// Reuses tensors of an earlier run: tensors in `outputs` that have the right type are overwritten, others are
  /// allocated, also those that would share memory with an input. Outputs must not share memory with each other.
  void run_into(const std::map<std::string, Tensor>& inputs, std::map<std::string, Tensor>& outputs, ThreadPool& pool,
                Trace* trace = nullptr);
  /// Like the overload above, with tensors in the order of the ports of spec().
  void run_into(std::span<const Tensor* const> inputs, std::span<Tensor> outputs, ThreadPool& pool,
                Trace* trace = nullptr);

  /// Runs one part (ProgramSpec::parts) on the inputs that are fed to it and returns its outputs. Parts run in order.
  /// Inputs and outputs of earlier parts must stay in memory unchanged until the last part is done.
  std::map<std::string, Tensor> run_part(int part, const std::map<std::string, Tensor>& inputs, ThreadPool& pool);

  /// A copy of the tensor's current contents. Throws if there is no tensor of that name.
  Tensor tensor(std::string_view name) const;
  /// Copies of all tensors that the program reads or updates.
  std::map<std::string, Tensor> tensors() const;
  /// Throws if there is no such tensor, if it has another type, or if it is frozen.
  void set_tensor(std::string_view name, const Tensor& contents);

  const ProgramSpec& spec() const;
  const std::vector<Instruction>& instructions() const { return spec().instructions; }
  MemoryReport memory() const { return memory_of(spec()); }

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace halfstep::runtime
