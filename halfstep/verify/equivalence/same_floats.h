// The network that came in against what preparation made of its floats: in float64, value by value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"

namespace halfstep::verify {

/// An element of a rewritten value that is another number than in the network that came in.
struct FloatFault {
  std::string value;
  int64_t index = 0;  ///< flat
  double expected = 0, found = 0;
  double bound = 0;  ///< that their difference may have
};

struct FloatReport {
  int64_t values = 0;     ///< that both networks have
  int64_t compared = 0;   ///< elements of those that a rewriting touched; the others are the same operators on them
  double difference = 0;  ///< the largest of a value's elements, to the largest of the value
  std::vector<FloatFault> faults;  ///< the first of each value
  /// Where the prepared network without quantizers is not the rewritten one: a sentence, or "".
  std::string structure;
  bool trained = false;  ///< whether its parameters are no longer the rewritten ones
  bool holds() const { return faults.empty() && structure.empty(); }
  /// What was found of another part of the network.
  void add(const FloatReport& part);
};

struct FloatOptions {
  int64_t elements = 4096;  ///< of each value, drawn at random
  uint64_t seed = 0;
};

/// Every value that `rewritten` has in common with `source` by name (source_value in codings.h), where another operator
/// makes it or another tensor goes into it: worked out by either network from the same values before it, which are
/// those of a run of `source` on `inputs`. They may differ by the rounding of folded weights and biases to float32.
/// Both are in evaluation form. Throws Error where outputs have other names or meet other values.
FloatReport same_floats(const Model& source, const Model& rewritten, const Tensors& inputs, const FloatOptions& options,
                        ThreadPool& pool);

/// Adds what holds between `rewritten` and `unquantized`, the prepared network without its quantizers.
void compare_structure(FloatReport& report, const Model& rewritten, const Model& unquantized);

}  // namespace halfstep::verify
