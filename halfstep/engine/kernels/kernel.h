// What a kernel is: three functions on raw views. The only header of this room that compile and runtime see.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/shape.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/machine/cpu.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels {

/// A dense row-major operand in device memory. An absent optional operand has `data == nullptr` and no dims.
template <class Void>
struct BasicView {
  Void* data = nullptr;
  DType dtype = DType::f32;
  std::span<const int64_t> dims;

  bool present() const { return data != nullptr; }
  int64_t size() const {
    int64_t count = 1;
    for (const int64_t extent : dims) count *= extent;
    return count;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};
using View = BasicView<void>;
using ConstView = BasicView<const void>;

/// One use of an operator at compile time: static types by flat position (nullptr: absent), outputs by port (nullptr:
/// not produced).
struct Problem {
  std::string_view op;
  const Attributes& attributes;
  std::span<const Type* const> in;
  std::span<const Type* const> out;
  std::span<const Tensor* const> constants;  ///< operands that never change, by flat position; nullptr otherwise
  CpuLevel level = CpuLevel::scalar;
  /// The result must have the bits of the reference, whatever the level: a kernel that adds in another order, or
  /// approximates otherwise, refuses.
  bool one_order = false;
  /// The Plan will run. Else somebody only looks at it, and kernels leave out what packing would fill.
  bool runs = true;

  const void* constant(size_t i) const { return constants[i] == nullptr ? nullptr : constants[i]->raw(); }
};

/// Whether result 0 may lie where operand 0 does.
enum class InPlace {
  no,
  copy,      ///< it is operand 0, byte for byte: where it lies in the same place nothing is done
  overwrite  ///< elements of operand 0 are read before those of the same position are written; it is lost then
};

/// What prepare returns. The split into phases and pieces depends on the Problem alone, never on threads: pieces of a
/// phase run in any order on any thread, a phase starts when the one before it is complete.
struct Plan {
  std::shared_ptr<const void> state;  ///< the kernel's own, such as a packed weight; shared by all pieces, read-only
  size_t scratch = 0;                 ///< bytes shared by all pieces of a call; contents undefined at the start
  size_t worker_scratch = 0;          ///< bytes for each running piece
  std::vector<int64_t> phases = {1};  ///< pieces of each phase
  InPlace in_place = InPlace::no;
  std::vector<size_t> packed = {};  ///< constants that `state` has in a form of its own: calls do not read them
};

/// One execution. Operands and results may share memory only where an output is `state_of` that input, or where the
/// Plan says so.
struct Call {
  const void* state = nullptr;
  std::span<const ConstView> in;  ///< by flat position; aligned to their elements
  std::span<const View> out;      ///< by port; aligned to kAlignment
  std::byte* scratch = nullptr;
  std::byte* worker_scratch = nullptr;
};

/// What prepare put into the Plan.
template <class State>
const State& state_of(const Call& call) {
  return *static_cast<const State*>(call.state);
}

struct Kernel {
  const char* name;  ///< "reference", "simd", "onednn"; unique within an operator and device
  /// Whether this kernel can do it, or the reason why not, as a sentence without a capital or full stop.
  Verdict (*accept)(const Problem& problem);
  /// At compile time, after accept; may allocate and throw Error.
  Plan (*prepare)(const Problem& problem);
  /// Allocates nothing, starts no threads, throws nothing.
  Status (*run)(const Call& call, int phase, int64_t piece);
};

/// `accept` of a kernel that takes every problem its record allows.
inline Verdict accept_all(const Problem&) { return accept(); }
/// What a kernel asks first whose results are only close to the reference's.
inline Verdict accept_own_order(const Problem& problem) {
  return problem.one_order ? refuse(errors::kernel_has_its_own_order()) : accept();
}

/// The candidates for an operator, best first, the reference last; empty for an unknown operator. Written by opgen.
std::span<const Kernel* const> cpu_kernels(std::string_view op);
/// The same for a CUDA device, where the reference is not among them; empty in a build without CUDA.
std::span<const Kernel* const> cuda_kernels(std::string_view op);
/// The plain reference: oracle and fallback; nullptr for an unknown operator.
const Kernel* reference_kernel(std::string_view op);

}  // namespace halfstep::kernels
