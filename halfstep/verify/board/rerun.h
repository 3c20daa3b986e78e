// Recomputes a layer, unchanged or with a modification. This shows, for example, the results of a board that omits the
// bias.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/core/machine/parallel.h"

namespace halfstep::board {

/// An operator with attributes and contents of operands. A value that can be copied and modified.
struct Rerun {
  const OpInfo* info = nullptr;
  Attributes attributes;
  std::vector<Tensor> operands;  ///< by flat position, undefined if absent

  /// The first result. Throws Error if the record's rules do not hold.
  Tensor run(ThreadPool& pool) const;

  /// The operand of the port. nullptr if the operator does not have the port, or if the operand is absent (const
  /// overload only).
  Tensor* operand(std::string_view port);
  const Tensor* operand(std::string_view port) const;
  bool has(std::string_view attribute) const { return info->attribute(attribute) != nullptr; }
  int64_t whole(std::string_view attribute) const { return get<int64_t>(attributes, attribute); }
};

/// The sums of a layer before requantization, and its requantization.
struct Sums {
  std::vector<double> sums;  ///< exact sums [n, c, h, w], without bias
  std::vector<double> bias;  ///< by channel
  int64_t channels = 1, run = 1;
  Rerun layer;

  double accumulator(size_t i) const { return sums[i] + bias[channel(i)]; }
  size_t channel(size_t i) const { return i / static_cast<size_t>(run) % static_cast<size_t>(channels); }
  /// The result in steps before rounding, as a real number.
  double steps(size_t i) const;
  /// The code for an accumulator.
  int64_t code(size_t i, int64_t accumulator) const;
};

/// Nothing for operators other than integer_conv2d and integer_linear.
std::optional<Sums> sums_of(const Rerun& layer, ThreadPool& pool);

}  // namespace halfstep::board
