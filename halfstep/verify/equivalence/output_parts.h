// Compares outputs with those of the float network, part by part. A single number over all elements would hide a part
// with small values next to larger ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/sqnr.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// A whole output, or its elements at one index of an axis.
struct OutputPart {
  std::string output;
  int64_t axis = -1, index = 0;  ///< axis -1: the whole output
  Likeness sums = {};
};

/// For example "output 'y' at index 4 of axis 1".
std::string name_of(const OutputPart& part);

/// SQNR in dB below which a part is poor. It then has lost more than a tenth of its magnitude.
inline constexpr double kPoorPart = 20;

/// The axes along which parts are compared: axis 1, usually channels, and the last axis.
std::vector<int64_t> part_axes(const Dims& dims);

class OutputParts {
 public:
  /// Adds a batch of one output. Ignores tensors that are not f32 or have different shapes.
  void add(const std::string& output, const Tensor& wanted, const Tensor& found);

  /// Each output as a whole, followed by its parts. Omits parts that are always 0 in the float network.
  std::vector<OutputPart> parts() const;

 private:
  using Along = std::pair<std::string, int64_t>;  ///< an output and an axis of it

  std::vector<std::string> order_;
  std::map<Along, std::vector<Likeness>> sums_;
};

/// The part with the lowest SQNR, the first one of equal parts. Null if there are no parts.
const OutputPart* worst_of(const std::vector<OutputPart>& parts);

}  // namespace halfstep::verify
