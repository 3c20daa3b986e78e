// What a Program is made of: values at places, and instructions over them. Plain data; compile writes it, describe
// reads it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/place.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::runtime {

enum class Storage {
  arena,   ///< at an offset of the place's arena, shared over time with other values
  tensor,  ///< the buffer of a parameter, of state or of a constant
  input,   ///< host memory of the caller, who feeds it
  output,  ///< host memory that a run makes and returns
  open     ///< host memory that a run makes when it knows the extents
};

/// A value at a place. Values that share a tensor (state before and after an update) are several slots of one buffer.
struct Slot {
  std::string name;  ///< the value's name in the graph; NAME:PLACE for its copy at another place
  Type type;
  Place place;
  Storage storage = Storage::arena;
  int index = -1;     ///< number of the tensor, input, output or open value; -1 in an arena
  size_t offset = 0;  ///< bytes from the start of the arena
  int first = -1;     ///< the instruction that writes it; -1: it is there before the first
  int last = -1;      ///< the last instruction that uses it; the number of instructions: it is there after the last

  /// 0 while its extents are open.
  size_t bytes() const {
    return type.is_static() ? static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype) : 0;
  }
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

struct ProgramSpec;

/// A program with the contents of its tensors, by number.
struct Unit {
  std::shared_ptr<ProgramSpec> spec;
  std::vector<Tensor> contents;
};

/// A region as a program of its own, or what makes one of it once a run knows the types of its arguments.
struct RegionSpec {
  std::shared_ptr<ProgramSpec> program;  ///< null where extents are open
  std::function<Unit(const std::vector<Type>&)> compile = {};
  std::vector<std::string> arguments = {};  ///< names
};

/// What a run gives to a region that it enters: the operation that holds it, which of its regions it is, the iteration
/// (-1 in a branch or a call) and its arguments by name.
using RegionWatcher = std::function<void(const std::string& op, size_t region, int64_t iteration, Tensors arguments)>;

/// Regions that an instruction runs in place of a kernel, each a program of its own whose tensors are those of the
/// whole. Operands of the instruction are a condition (of a branch, a loop or a backward), states, scanned and captured
/// values, carried ones and rows; inputs and outputs of regions are as halfstep/core/ir/flow.h has them.
struct FlowSpec {
  enum class Kind {
    branch,  ///< the first region where the condition is true, else the second; a single one without a condition
    loop,
    scan,
    backward
  };
  Kind kind = Kind::branch;
  size_t states = 0, scanned = 0, carried = 0, rows = 0;
  int64_t at_most = 0;  ///< iterations; 0: any number
  std::vector<RegionSpec> regions;
  std::function<void(int64_t)> watch = {};  ///< called before each iteration of a loop; may throw
  RegionWatcher watch_region = {};          ///< called before a region runs
};

/// A kernel on slots at one place, regions on slots of the host, or (without either) a copy of in[0] to out[0], between
/// places or within one.
struct Instruction {
  std::string name;  ///< of the graph's node
  std::string op;
  std::string location;  ///< "digits.ir:12", or ""
  Place place;
  const kernels::Kernel* kernel = nullptr;
  kernels::Plan plan;
  std::shared_ptr<FlowSpec> flow;       ///< null: a kernel or a copy
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
  bool read = true;     ///< by instructions: else every kernel that had it as an operand has packed it
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
  std::vector<TensorSpec> tensors;        ///< of a region: none, its slots number those of the network
  std::vector<Port> inputs, outputs;
  std::map<Place, size_t> arenas;  ///< bytes
  size_t naive_bytes = 0;          ///< of the arenas, had every value memory of its own
  int open_values = 0;
};

}  // namespace halfstep::runtime
