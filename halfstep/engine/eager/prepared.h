// A direct call that is checked and has its kernel. Only the contents are missing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::eager {

/// Immutable: any number of threads may run it at once.
class Prepared {
 public:
  /// Checks every rule of the record and selects the kernel like compile. `attributes` may omit defaults. `operands`
  /// are in flat positions, and only their presence and types count. Throws Error.
  Prepared(const OpInfo& info, const Attributes& attributes, std::span<const kernels::ConstView> operands);

  const OpInfo& info() const { return *info_; }
  const Attributes& attributes() const { return attributes_; }
  /// The types of the results by port, nullopt where the attributes switch a result off.
  const std::vector<std::optional<Type>>& results() const { return results_; }
  /// Bytes of operands and results together, a measure of the work.
  size_t bytes() const { return bytes_; }

  /// Operands must be aligned to their elements and have the prepared types. Results (by port) must be aligned to
  /// kAlignment and share no memory with operands. Small calls use only this thread. If several large calls run at
  /// once, one uses the threads of the process and the others one thread each. The results are the same. Throws Error
  /// when the kernel fails.
  void run(std::span<const kernels::ConstView> in, std::span<const kernels::View> out) const;

 private:
  const OpInfo* info_;
  Attributes attributes_;
  std::vector<std::optional<Type>> results_;
  const kernels::Kernel* kernel_ = nullptr;
  kernels::Plan plan_;
  size_t bytes_ = 0;
  bool spreads_ = false;  ///< large enough to use more than one thread
};

}  // namespace halfstep::eager
