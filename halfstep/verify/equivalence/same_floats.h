// Compares the source model with its rewritten float form, value by value in float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"

namespace halfstep::verify {

/// An element of a rewritten value that differs from the source model.
struct FloatFault {
  std::string value;
  int64_t index = 0;  ///< flat index
  double expected = 0, found = 0;
  double bound = 0;  ///< largest allowed difference
};

struct FloatReport {
  int64_t values = 0;     ///< values that both networks have
  int64_t compared = 0;   ///< elements of values that rewriting changed, other values have the same operators on the
                          ///< same operands
  double difference = 0;  ///< largest difference within a value, relative to its largest element
  std::vector<FloatFault> faults;  ///< first fault of each value
  /// Difference between the prepared network without quantizers and the rewritten one, as a sentence. "" if there is
  /// none.
  std::string structure;
  bool trained = false;  ///< whether its parameters differ from the rewritten ones
  bool holds() const { return faults.empty() && structure.empty(); }
  /// Adds the results for another part of the network.
  void add(const FloatReport& part);
};

struct FloatOptions {
  int64_t elements = 4096;  ///< random elements of each value
  uint64_t seed = 0;
};

/// Compares every value that `rewritten` and `source` have in common by name (source_value in codings.h), if its
/// operator or a tensor operand changed. Both networks compute it from the same preceding values, which come from a run
/// of `source` on `inputs`. Values may differ by the rounding of folded weights and biases to float32. Both networks
/// must be in evaluation form. Throws Error if the outputs have different names or correspond to different values.
FloatReport same_floats(const Model& source, const Model& rewritten, const Tensors& inputs, const FloatOptions& options,
                        ThreadPool& pool);

/// Compares the structure of `rewritten` with `unquantized`, the prepared network without its quantizers, and adds the
/// result.
void compare_structure(FloatReport& report, const Model& rewritten, const Model& unquantized);

}  // namespace halfstep::verify
