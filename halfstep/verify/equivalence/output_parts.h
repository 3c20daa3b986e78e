// How near outputs are to those of the float network, part by part: one number over all elements hides a part of small
// values beside large ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/sqnr.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// All of an output, or its elements at one index of an axis.
struct OutputPart {
  std::string output;
  int64_t axis = -1, index = 0;  ///< axis -1: all of it
  Likeness sums = {};
};

/// "output 'y' at index 4 of axis 1".
std::string name_of(const OutputPart& part);

/// Below this a part has lost more than a tenth of its magnitude, in dB.
inline constexpr double kPoorPart = 20;

/// The axes along which parts are compared: 1, where channels are, and the last one.
std::vector<int64_t> part_axes(const Dims& dims);

class OutputParts {
 public:
  /// Adds a batch of one output. Anything but f32 of the same extents says nothing.
  void add(const std::string& output, const Tensor& wanted, const Tensor& found);

  /// Each output as a whole, and then its parts; those that are 0 throughout in the float network are left out.
  std::vector<OutputPart> parts() const;

 private:
  using Along = std::pair<std::string, int64_t>;  ///< an output and an axis of it

  std::vector<std::string> order_;
  std::map<Along, std::vector<Likeness>> sums_;
};

/// The part with the least SQNR, the first of equals; null where there is none.
const OutputPart* worst_of(const std::vector<OutputPart>& parts);

}  // namespace halfstep::verify
