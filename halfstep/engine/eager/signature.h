// Key of a direct call: everything it depends on, except the contents of its operands.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::eager {

/// An operator, attributes and the types of operands, encoded as words. Equal words mean equal calls. One call may have
/// several encodings (an attribute may be omitted or set to its default).
class Signature {
 public:
  explicit Signature(const OpInfo& info) { add(reinterpret_cast<uintptr_t>(&info)); }

  /// `position` is the index of the attribute in the record.
  void attribute(size_t position, const Attribute& value);
  /// The next operand by flat position. Add absent ones too.
  void operand(const kernels::ConstView& view);

  std::span<const uint64_t> words() const {
    return heap_.empty() ? std::span<const uint64_t>(inline_.data(), count_) : std::span<const uint64_t>(heap_);
  }
  uint64_t hash() const { return hash_; }

 private:
  static constexpr size_t kInline = 48;

  void add(uint64_t word);
  void add(int64_t value) { add(static_cast<uint64_t>(value)); }
  void add(double value) { add(std::bit_cast<uint64_t>(value)); }
  void add(std::string_view text);
  template <class T>
  void add_list(const std::vector<T>& list);

  std::array<uint64_t, kInline> inline_;  // NOLINT: only the first count_ are read
  size_t count_ = 0;
  std::vector<uint64_t> heap_;  ///< all words, if there are more than kInline
  uint64_t hash_ = 0x9E3779B97F4A7C15;
};

/// The words of `attributes`, which may omit defaults, and of the operands. Throws Error for an attribute that the
/// operator does not have.
Signature signature_of(const OpInfo& info, const Attributes& attributes, std::span<const kernels::ConstView> operands);

}  // namespace halfstep::eager
