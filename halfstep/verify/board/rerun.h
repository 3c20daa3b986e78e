// A layer computed once more, as it is or with something else in it: what would a board have given that left out the
// bias?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/core/machine/parallel.h"

namespace halfstep::board {

/// An operator, its attributes and the contents of its operands: a value, to be copied and changed.
struct Rerun {
  const OpInfo* info = nullptr;
  Attributes attributes;
  std::vector<Tensor> operands;  ///< by flat position; undefined where absent

  /// Its first result. Throws Error where the record has rules against it.
  Tensor run(ThreadPool& pool) const;

  /// The operand of that name; nullptr where the operator has none or it is absent.
  Tensor* operand(std::string_view port);
  const Tensor* operand(std::string_view port) const;
  bool has(std::string_view attribute) const { return info->attribute(attribute) != nullptr; }
  int64_t whole(std::string_view attribute) const { return get<int64_t>(attributes, attribute); }
};

/// What a layer adds up before it requantizes, and how it does that.
struct Sums {
  std::vector<double> sums;  ///< exact, [n, c, h, w], without bias
  std::vector<double> bias;  ///< by channel
  int64_t channels = 1, run = 1;
  Rerun layer;

  double accumulator(size_t i) const { return sums[i] + bias[channel(i)]; }
  size_t channel(size_t i) const { return i / static_cast<size_t>(run) % static_cast<size_t>(channels); }
  /// Steps of the result, before they are rounded; in real numbers.
  double steps(size_t i) const;
  /// The code that an accumulator becomes.
  int64_t code(size_t i, int64_t accumulator) const;
};

/// Nothing of an operator without stored weights on codes.
std::optional<Sums> sums_of(const Rerun& layer, ThreadPool& pool);

}  // namespace halfstep::board
