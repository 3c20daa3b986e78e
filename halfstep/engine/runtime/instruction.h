// Parts of a Program: values on devices, and instructions on them. Plain data that compile writes and describe reads.
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
  arena,   ///< at an offset of the device's arena, which values share over time
  tensor,  ///< buffer of a parameter, state or constant
  input,   ///< host memory that the caller feeds
  output,  ///< host memory that a run allocates and returns
  open     ///< host memory that a run allocates when it knows the extents
};

/// A value on a device. Values that share a tensor (state before and after an update) are several slots of one buffer.
struct Slot {
  std::string name;  ///< name of the value in the graph, NAME:DEVICE for its copy on another device
  Type type;
  Place place;
  Storage storage = Storage::arena;
  int index = -1;     ///< number of the tensor, input, output or open value (-1: in an arena)
  size_t offset = 0;  ///< bytes from the start of the arena
  int first = -1;     ///< instruction that writes it (-1: available before the first one)
  int last = -1;      ///< last instruction that uses it (number of instructions: still needed after the last one)

  /// 0 while a dimension is dynamic.
  size_t bytes() const {
    return type.is_static() ? static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype) : 0;
  }
};

/// Use of a slot under a port name. Slot -1: absent.
struct Operand {
  int slot = -1;
  std::string port;
  std::optional<Type> prepared = {};  ///< type that the instruction's kernel was prepared for
};

/// A kernel that refused an operation, and the reason.
struct Refusal {
  std::string kernel, reason;
};

struct ProgramSpec;

/// A program with the contents of its tensors, indexed by tensor number.
struct Unit {
  std::shared_ptr<ProgramSpec> spec;
  std::vector<Tensor> contents;
};

/// A region as a program of its own, or a function that compiles it once a run knows the types of its arguments.
struct RegionSpec {
  std::shared_ptr<ProgramSpec> program;  ///< null if dimensions are dynamic
  std::function<Unit(const std::vector<Type>&)> compile = {};
  std::vector<std::string> arguments = {};  ///< names of the arguments
};

/// Receives each region that a run enters: the operation that holds it, the index of the region, the iteration (-1 in a
/// branch or a call) and the arguments by name.
using RegionWatcher = std::function<void(const std::string& op, size_t region, int64_t iteration, Tensors arguments)>;

/// Regions that an instruction runs instead of a kernel. Each is a program that uses the tensors of the whole program.
/// Operands are in this order: condition (of a branch, a loop or a backward), states, scanned values, captured values,
/// carried values and rows. halfstep/core/ir/flow.h defines the inputs and outputs of regions.
struct FlowSpec {
  enum class Kind {
    branch,  ///< runs the first region if the condition is true, else the second (without a condition: its only region)
    loop,
    scan,
    backward
  };
  Kind kind = Kind::branch;
  size_t states = 0, scanned = 0, carried = 0, rows = 0;
  int64_t at_most = 0;  ///< maximum number of iterations (0: no limit)
  std::vector<RegionSpec> regions;
  std::function<void(int64_t)> watch = {};  ///< called before each iteration of a loop, may throw
  RegionWatcher watch_region = {};          ///< called before a region runs
};

/// A kernel on slots on one device, regions on slots of the host, or (without either) a copy of in[0] to out[0]. A copy
/// goes between devices or within one.
struct Instruction {
  std::string name;  ///< name of the graph's node
  std::string op;
  std::string location;  ///< "digits.ir:12", or ""
  Place place;
  const kernels::Kernel* kernel = nullptr;
  kernels::Plan plan;
  int64_t flops = 0;                    ///< number of arithmetic operations (0 for a copy)
  std::shared_ptr<FlowSpec> flow;       ///< null: a kernel or a copy
  size_t scratch_offset = 0;            ///< offset of the kernel's scratch memory (plan.scratch bytes) in the device's
                                        ///< arena
  std::vector<Operand> in;              ///< indexed by flat position
  std::vector<Operand> out;             ///< indexed by port
  std::vector<int> data_dependencies;   ///< instructions whose results it reads, in ascending order
  std::vector<int> order_dependencies;  ///< instructions that use memory it overwrites, in ascending order
  std::vector<Refusal> refused;         ///< candidates that were tried before `kernel`
};

/// A named tensor in the memory of one device. A frozen tensor exists once for each device whose kernels read it.
struct TensorSpec {
  std::string name;
  Type type;
  Place place;
  bool frozen = false;  ///< kernels may have packed its contents
  bool read = true;     ///< false if every kernel that reads it has packed it, so that no instruction needs it
};

/// Name under which a slot is fed or fetched.
struct Port {
  std::string name;
  int slot = -1;
  int part = 0;  ///< part of a run that the input is fed to or the output comes from
};

/// A whole program, except the contents of its tensors.
struct ProgramSpec {
  std::string name;
  std::vector<Slot> slots;
  std::vector<Instruction> instructions;  ///< in an order that meets every dependency
  std::vector<int> parts = {0};           ///< first instruction of each part of a run
  std::vector<TensorSpec> tensors;        ///< empty in a region, whose slots use the tensor numbers of the network
  std::vector<Port> inputs, outputs;
  std::map<Place, size_t> arenas;  ///< bytes
  size_t naive_bytes = 0;          ///< bytes of the arenas if no two values shared memory
  int open_values = 0;
};

}  // namespace halfstep::runtime
