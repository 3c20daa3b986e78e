// From float to few bits in steps: each starts from the weights of the one before and from nothing else of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/api/quantize.h"

namespace halfstep::api {

/// Widths of one stage, everywhere but at the network's ends.
struct StageBits {
  int weights = 0, features = 0;  ///< 0: float
  bool in_float() const { return weights == 0; }
};

/// "float", "8", or weights and features as in "4/8".
StageBits parse_stage_bits(std::string_view text);
/// "float", "8 bits", "4-bit weights, 8-bit features".
std::string to_text(const StageBits& bits);

struct BitsSchedule {
  std::vector<StageBits> stages = {};            ///< float at most as the first; none: no schedule
  std::optional<quant::Platform> platform = {};  ///< of a float network; a prepared one has its own
  QuantizeOptions quantize = {};                 ///< of a float network; the stages say the widths
};

}  // namespace halfstep::api
