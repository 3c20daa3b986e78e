// A direct call that is checked and has its kernel: everything but the contents.
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
  /// Checks every rule of the record and selects the kernel as compile does. `attributes` may leave defaults out;
  /// operands by flat position, of which only presence and types count. Throws Error.
  Prepared(const OpInfo& info, const Attributes& attributes, std::span<const kernels::ConstView> operands);

  const OpInfo& info() const { return *info_; }
  const Attributes& attributes() const { return attributes_; }
  /// The types of the results by port; nothing where the attributes switch it off.
  const std::vector<std::optional<Type>>& results() const { return results_; }
  /// The bytes of operands and results together: how much there is to do.
  size_t bytes() const { return bytes_; }

  /// Operands are aligned to their elements and have the types that were prepared for, results (by port) are aligned
  /// to kAlignment and share no memory with operands. Small calls stay on this thread; of several large ones at a time
  /// one has the threads of the process and the others one each, with the same results. Throws Error when the kernel
  /// fails.
  void run(std::span<const kernels::ConstView> in, std::span<const kernels::View> out) const;

 private:
  const OpInfo* info_;
  Attributes attributes_;
  std::vector<std::optional<Type>> results_;
  const kernels::Kernel* kernel_ = nullptr;
  kernels::Plan plan_;
  size_t bytes_ = 0;
  bool spreads_ = false;  ///< worth more than one thread
};

}  // namespace halfstep::eager
