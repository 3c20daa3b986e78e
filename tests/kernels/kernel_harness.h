// Runs a kernel on tensors as a Program would, under the worst conditions that a Program permits. Results and scratch
// start as 0xFF, and guard zones follow every written buffer. Pieces run in any order, and operands end where their
// memory ends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/small_float.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/machine/float_environment.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/kernel.h"
#include "tests/support/error.h"

namespace halfstep::kernels {

/// A single use of an operator, with its operands.
struct KernelCase {
  std::string op;
  Attributes attributes;                 ///< complete, because nothing fills in defaults here
  std::vector<Tensor> in;                ///< by flat position. An undefined Tensor is an absent operand
  std::vector<std::optional<Type>> out;  ///< by port. nullopt: not produced
  std::vector<int> constants = {};       ///< flat positions of the operands whose contents prepare may read
  std::vector<std::pair<int, int>> in_place =
      {};  ///< (output port, flat position) pairs that share a buffer, as state may
};

enum class PieceOrder { ascending, descending, shuffled };

namespace harness {

/// Memory of exactly `size` bytes plus guards, so that a sanitizer sees accesses past its end.
class Buffer {
 public:
  explicit Buffer(size_t size, size_t guard = 0) : size_(size), guard_(guard) {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, std::max<size_t>(size + guard, 1)) != 0) throw std::bad_alloc();
    bytes_.reset(static_cast<std::byte*>(memory));
    fill();
    std::memset(bytes_.get() + size_, kGuard, guard_);
  }
  void fill() { std::memset(bytes_.get(), 0xFF, size_); }
  std::byte* data() const { return bytes_.get(); }
  bool guard_intact() const {
    return std::all_of(bytes_.get() + size_, bytes_.get() + size_ + guard_,
                       [](std::byte b) { return b == std::byte{kGuard}; });
  }

 private:
  static constexpr unsigned char kGuard = 0xA5;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  size_t size_, guard_;
  std::unique_ptr<std::byte[], Free> bytes_;
};

inline constexpr size_t kGuardBytes = 256;

/// The Problem of a case, with the arrays that it points to.
class CaseProblem {
 public:
  CaseProblem(const KernelCase& use, CpuLevel level) : use_(use), level_(level) {
    for (const Tensor& tensor : use.in) {
      in_.push_back(tensor.defined() ? &tensor.type() : nullptr);
      constants_.push_back(nullptr);
    }
    for (const auto& type : use.out) out_.push_back(type ? &*type : nullptr);
    for (const int position : use.constants) constants_[position] = &use.in[position];
  }
  Problem problem() const { return {use_.op, use_.attributes, in_, out_, constants_, level_}; }

 private:
  const KernelCase& use_;
  CpuLevel level_;
  std::vector<const Type*> in_, out_;
  std::vector<const Tensor*> constants_;
};

/// Operands and results of one execution.
class CaseCall {
 public:
  explicit CaseCall(const KernelCase& use) : use_(use) {
    for (const Tensor& tensor : use.in) {
      const bool present = tensor.defined();
      in_.emplace_back(present ? tensor.bytes() : 0);
      if (present) std::memcpy(in_.back().data(), tensor.raw(), tensor.bytes());
      in_views_.push_back({present ? in_.back().data() : nullptr, present ? tensor.dtype() : DType::f32,
                           present ? std::span<const int64_t>(tensor.dims()) : std::span<const int64_t>()});
    }
    for (const auto& type : use.out) {
      out_.emplace_back(type ? bytes_of(*type) : 0, kGuardBytes);
      out_views_.push_back({type ? out_.back().data() : nullptr, type ? type->dtype : DType::f32,
                            type ? std::span<const int64_t>(type->dims) : std::span<const int64_t>()});
    }
    for (const auto& [port, position] : use.in_place) {
      std::memcpy(out_[port].data(), in_[position].data(), use.in[position].bytes());
      in_views_[position].data = out_[port].data();
    }
  }

  Call call() const { return {nullptr, in_views_, out_views_, nullptr, nullptr}; }

  void expect_intact() const {
    for (size_t port = 0; port < out_.size(); ++port)
      EXPECT_TRUE(out_[port].guard_intact()) << use_.op << ": output " << port << " is written past its end";
    for (size_t i = 0; i < in_.size(); ++i) {
      if (use_.in[i].defined()) {
        EXPECT_EQ(std::memcmp(in_[i].data(), use_.in[i].raw(), use_.in[i].bytes()), 0)
            << use_.op << ": operand " << i << " is changed";
      }
    }
  }

  std::vector<Tensor> results() const {
    std::vector<Tensor> tensors;
    for (size_t port = 0; port < out_.size(); ++port) {
      tensors.emplace_back();
      if (!use_.out[port]) continue;
      tensors.back() = Tensor(use_.out[port]->dtype, use_.out[port]->dims);
      std::memcpy(tensors.back().raw(), out_[port].data(), tensors.back().bytes());
    }
    return tensors;
  }

 private:
  static size_t bytes_of(const Type& type) {
    return static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype);
  }
  const KernelCase& use_;
  std::vector<Buffer> in_, out_;
  std::vector<ConstView> in_views_;
  std::vector<View> out_views_;
};

inline std::vector<int64_t> order_of_pieces(int64_t count, PieceOrder order, int phase) {
  if (order == PieceOrder::shuffled) return Random(17, static_cast<uint64_t>(phase)).permutation(count);
  std::vector<int64_t> pieces(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) pieces[i] = order == PieceOrder::ascending ? i : count - 1 - i;
  return pieces;
}

template <class T>
testing::AssertionResult same_elements(const Tensor& want, const Tensor& got) {
  const auto w = want.data<T>();
  const auto g = got.data<T>();
  int64_t differing = 0;
  size_t first = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::memcmp(&w[i], &g[i], sizeof(T)) == 0) continue;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(w[i]) && std::isnan(g[i])) continue;
    } else if (want.dtype() == DType::f16 || want.dtype() == DType::bf16) {
      const SmallFloat format = SmallFloat::of(want.dtype());
      if (std::isnan(decode(static_cast<uint16_t>(w[i]), format)) &&
          std::isnan(decode(static_cast<uint16_t>(g[i]), format)))
        continue;
    }
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << differing << " of " << w.size() << " elements differ, the first at " << first
                                     << ": expected " << +w[first] << ", found " << +g[first];
}

/// The numbers of an f16 or bf16 tensor as f32. Equal numbers have equal bits there too.
inline Tensor widened(const Tensor& half) {
  Tensor wide(DType::f32, half.dims());
  const auto to = wide.data<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    const uint16_t bits = half.data<uint16_t>()[i];
    Half f16;
    BFloat16 bf16;
    f16.bits = bf16.bits = bits;
    to[i] = half.dtype() == DType::f16 ? static_cast<float>(f16) : static_cast<float>(bf16);
  }
  return wide;
}

inline testing::AssertionResult close_to(const Tensor& want, const Tensor& got, double tolerance) {
  const auto w = want.data<float>();
  const auto g = got.data<float>();
  double largest = 0;
  for (const float v : w) largest = std::isfinite(v) ? std::max(largest, std::fabs(double{v})) : largest;
  for (size_t i = 0; i < w.size(); ++i) {
    const bool same = w[i] == g[i] || (std::isnan(w[i]) && std::isnan(g[i]));
    if (!same && !(std::fabs(double{w[i]} - double{g[i]}) <= tolerance * largest))
      return testing::AssertionFailure() << "element " << i << " is " << g[i] << ", expected " << w[i] << " within "
                                         << tolerance * largest;
  }
  return testing::AssertionSuccess();
}

}  // namespace harness

/// Compares every bit of every element. Two NaN are equal, because the sign and payload of a NaN depend on the order of
/// operands.
inline testing::AssertionResult same_bits(const Tensor& want, const Tensor& got) {
  if (want.defined() != got.defined()) return testing::AssertionFailure() << "one of the two is not there";
  if (!want.defined()) return testing::AssertionSuccess();
  if (want.type() != got.type())
    return testing::AssertionFailure() << "found " << to_string(got.type()) << ", expected " << to_string(want.type());
  switch (want.dtype()) {
    case DType::f32: return harness::same_elements<float>(want, got);
    case DType::f64: return harness::same_elements<double>(want, got);
    case DType::i8:
    case DType::i4:
    case DType::i2: return harness::same_elements<int8_t>(want, got);
    case DType::u2:
    case DType::u4:
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2:
    case DType::f8_e5m2fnuz:
    case DType::f4_e2m1fn:
    case DType::u8: return harness::same_elements<uint8_t>(want, got);
    case DType::i16: return harness::same_elements<int16_t>(want, got);
    case DType::f16:
    case DType::bf16: return harness::same_elements<float>(harness::widened(want), harness::widened(got));
    case DType::u16: return harness::same_elements<uint16_t>(want, got);
    case DType::i32: return harness::same_elements<int32_t>(want, got);
    case DType::i64: return harness::same_elements<int64_t>(want, got);
    case DType::u32: return harness::same_elements<uint32_t>(want, got);
    case DType::u64: return harness::same_elements<uint64_t>(want, got);
    case DType::boolean: return harness::same_elements<bool>(want, got);
  }
  return testing::AssertionFailure() << "unknown element type";
}

/// Whether `kernel` accepts the case at `level`.
inline Verdict verdict_of(const Kernel& kernel, const KernelCase& use, CpuLevel level) {
  return kernel.accept(harness::CaseProblem(use, level).problem());
}

/// Reason for a refusal. An empty diagnostic where the kernel accepts the case.
inline Diagnostic refusal_of(const Kernel& kernel, const KernelCase& use, CpuLevel level) {
  const Verdict verdict = verdict_of(kernel, use, level);
  return verdict ? Diagnostic{} : verdict.diagnostic();
}

/// The error of the first phase and piece that fail. An empty diagnostic where none fails.
inline Diagnostic failure_of(const Kernel& kernel, const KernelCase& use, CpuLevel level) {
  const harness::CaseProblem owner(use, level);
  const Plan plan = kernel.prepare(owner.problem());
  const harness::CaseCall operands(use);
  const harness::Buffer scratch(plan.scratch), worker_scratch(plan.worker_scratch);
  Call call = operands.call();
  call.state = plan.state.get();
  call.scratch = scratch.data();
  call.worker_scratch = worker_scratch.data();
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    for (int64_t piece = 0; piece < plan.phases[phase]; ++piece) {
      const Status status = kernel.run(call, static_cast<int>(phase), piece);
      if (!status.ok()) return status.diagnostic();
    }
  }
  return {};
}

/// Prepares and runs all phases and pieces. Returns results by port, undefined where not produced. Fails the test on a
/// refusal, an error, a changed operand or a write past the end of a buffer.
inline std::vector<Tensor> run_kernel(const Kernel& kernel, const KernelCase& use, CpuLevel level,
                                      PieceOrder order = PieceOrder::ascending) {
  const FloatEnvironment environment;
  const harness::CaseProblem owner(use, level);
  const Verdict verdict = kernel.accept(owner.problem());
  EXPECT_TRUE(verdict) << use.op << "/" << kernel.name << " at " << name(level) << " refuses: " << verdict.reason();
  if (!verdict) return std::vector<Tensor>(use.out.size());
  const Plan plan = kernel.prepare(owner.problem());
  const harness::CaseCall operands(use);
  std::vector<ConstView> read(operands.call().in.begin(), operands.call().in.end());
  for (const size_t packed : plan.packed) read[packed].data = nullptr;
  const harness::Buffer scratch(plan.scratch, harness::kGuardBytes);
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    for (const int64_t piece : harness::order_of_pieces(plan.phases[phase], order, static_cast<int>(phase))) {
      const harness::Buffer worker_scratch(plan.worker_scratch, harness::kGuardBytes);
      Call call = operands.call();
      call.state = plan.state.get();
      call.in = read;
      call.scratch = scratch.data();
      call.worker_scratch = worker_scratch.data();
      const Status status = kernel.run(call, static_cast<int>(phase), piece);
      EXPECT_TRUE(status.ok()) << use.op << "/" << kernel.name << ": " << status.message();
      EXPECT_TRUE(worker_scratch.guard_intact()) << use.op << "/" << kernel.name << ": worker scratch overrun";
    }
  }
  EXPECT_TRUE(scratch.guard_intact()) << use.op << "/" << kernel.name << ": scratch overrun";
  operands.expect_intact();
  return operands.results();
}

/// The CUDA kernels of an operator, compiled for the host. Empty when the build compiles them for a device, and with
/// sanitizers, which cannot follow their threads.
std::span<const Kernel* const> cuda_kernels_on_host(std::string_view op);

/// Compares the CUDA kernels with the reference in the same tests as other kernels. It skips runs of the tests at a
/// single level. Large operands are slow on the host, so they run in one type only.
inline void expect_cuda_matches_reference(const Kernel& reference, const KernelCase& use,
                                          const std::vector<Tensor>& want) {
  if (reference_kernel(use.op) != &reference || std::getenv("HALFSTEP_CPU") != nullptr) return;
  const DType type = use.in[0].dtype();
  if (use.in[0].size() > 50000 && is_float(type) && type != DType::f32) return;
  for (const Kernel* kernel : cuda_kernels_on_host(use.op)) {
    const std::vector<Tensor> got = run_kernel(*kernel, use, CpuLevel::scalar);
    for (size_t port = 0; port < want.size(); ++port)
      EXPECT_TRUE(same_bits(want[port], got[port])) << use.op << "/" << kernel->name << " of CUDA, output " << port;
  }
}

/// Expects the same bits from a kernel that may write over its first operand when it does so.
inline void expect_overwrites(const Kernel& kernel, const KernelCase& use, CpuLevel level,
                              const std::vector<Tensor>& apart) {
  if (kernel.prepare(harness::CaseProblem(use, level).problem()).in_place != InPlace::overwrite) return;
  KernelCase over = use;
  over.in_place = {{0, 0}};
  const std::vector<Tensor> got = run_kernel(kernel, over, level, PieceOrder::shuffled);
  for (size_t port = 0; port < apart.size(); ++port)
    EXPECT_TRUE(same_bits(apart[port], got[port]))
        << use.op << "/" << kernel.name << " at " << name(level) << ", output " << port << ", in place";
}

/// Compares `kernel` with `reference` at every level of this machine from `lowest` on, with pieces ascending and
/// shuffled. The results of all levels equal the reference bit for bit. With tolerance > 0, float results lie within
/// `tolerance` times the largest magnitude of the reference.
inline void expect_matches_reference(const Kernel& reference, const Kernel& kernel, const KernelCase& use,
                                     CpuLevel lowest = CpuLevel::avx2, double tolerance = 0) {
  const std::vector<Tensor> want = run_kernel(reference, use, CpuLevel::scalar);
  expect_cuda_matches_reference(reference, use, want);
  for (const CpuLevel level : available_cpu_levels()) {
    if (level < lowest) continue;
    const std::vector<Tensor> got = run_kernel(kernel, use, level);
    const std::vector<Tensor> shuffled = run_kernel(kernel, use, level, PieceOrder::shuffled);
    expect_overwrites(kernel, use, level, got);
    for (size_t port = 0; port < want.size(); ++port) {
      const bool bitwise = tolerance == 0 || !want[port].defined() || want[port].dtype() != DType::f32;
      EXPECT_TRUE(bitwise ? same_bits(want[port], got[port]) : harness::close_to(want[port], got[port], tolerance))
          << use.op << "/" << kernel.name << " at " << name(level) << ", output " << port;
      EXPECT_TRUE(same_bits(got[port], shuffled[port]))
          << use.op << "/" << kernel.name << " at " << name(level) << ", output " << port << ", pieces shuffled";
    }
  }
}

}  // namespace halfstep::kernels
