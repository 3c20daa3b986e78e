// The learning rate over a training.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halfstep::train {

/// What the learning rate does after its rise.
struct RateSchedule {
  /// Shares of the training after each of which the rate is a tenth of what it was; empty: half a cosine down to 0.
  std::vector<double> drops = {};
};
/// "cosine", "steps" (at 0.5 and 0.75) or "steps:0.5,0.75,0.9". Throws bad_input for anything else.
RateSchedule parse_rate_schedule(std::string_view text);
std::string to_text(const RateSchedule& schedule);

}  // namespace halfstep::train
