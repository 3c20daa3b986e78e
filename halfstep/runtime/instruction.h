// What a Program is made of: values at places, and instructions over them. Plain data; compile writes it, describe
// reads it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/base/place.h"
#include "halfstep/base/tensor.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::runtime {

enum class Storage {
  arena,   ///< at an offset of the place's arena, shared over time with other values
  tensor,  ///< the buffer of a parameter, of state or of a constant
  input,   ///< host memory of the caller, who feeds it
  output   ///< host memory that a run makes and returns
};

/// A value at a place. Values that share a tensor (state before and after an update) are several slots of one buffer.
struct Slot {
  std::string name;  ///< the value's name in the graph; NAME:PLACE for its copy at another place
  Type type;
  Place place;
  Storage storage = Storage::arena;
  int index = -1;     ///< number of the tensor, input or output; -1 in an arena
  size_t offset = 0;  ///< bytes from the start of the arena
  int first = -1;     ///< the instruction that writes it; -1: it is there before the first
  int last = -1;      ///< the last instruction that uses it; the number of instructions: it is there after the last

  size_t bytes() const { return static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype); }
};

/// A use of a slot under the name of a port; slot -1: absent.
struct Operand {
  int slot = -1;
  std::string port;
  std::optional<Type> prepared = {};  ///< the type for which the instruction's kernel was prepared
};

/// A kernel that could not do it, and why.
struct Refusal {
  std::string kernel, reason;
};

/// A kernel on slots at one place, or (without a kernel) a copy of in[0] to out[0], between places or within one.
struct Instruction {
  std::string name;  ///< of the graph's node
  std::string op;
  std::string location;  ///< "digits.ir:12", or ""
  Place place;
  const kernels::Kernel* kernel = nullptr;
  kernels::Plan plan;
  size_t scratch_offset = 0;            ///< of plan.scratch in the place's arena
  std::vector<Operand> in;              ///< by flat position
  std::vector<Operand> out;             ///< by port
  std::vector<int> data_dependencies;   ///< instructions whose results it reads, in order
  std::vector<int> order_dependencies;  ///< instructions that use memory which it overwrites, in order
  std::vector<Refusal> refused;         ///< candidates before `kernel`
};

/// A named tensor in the memory of one place. A frozen one that kernels at several places read is there once for each.
struct TensorSpec {
  std::string name;
  Type type;
  Place place;
  bool frozen = false;  ///< kernels may have packed its contents
};

/// Feeds or fetches a slot under a name.
struct Port {
  std::string name;
  int slot = -1;
  int part = 0;  ///< of a run: the one that it is fed to, or that gives it
};

/// Everything about a program but the contents of its tensors.
struct ProgramSpec {
  std::string name;
  std::vector<Slot> slots;
  std::vector<Instruction> instructions;  ///< in an order that meets every dependency
  std::vector<int> parts = {0};           ///< the first instruction of each part of a run
  std::vector<TensorSpec> tensors;
  std::vector<Port> inputs, outputs;
  std::map<Place, size_t> arenas;  ///< bytes
  size_t naive_bytes = 0;          ///< of the arenas, had every value memory of its own
};

}  // namespace halfstep::runtime
