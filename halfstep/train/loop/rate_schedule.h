// The learning rate over a training.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halfstep::train {

/// Shape of the learning rate after its rise.
struct RateSchedule {
  /// Fractions of the training after which the rate is divided by 10. Empty: half a cosine down to 0.
  std::vector<double> drops = {};
};
/// Parses "cosine", "steps" (at 0.5 and 0.75) or "steps:0.5,0.75,0.9". Throws bad_input for other text.
RateSchedule parse_rate_schedule(std::string_view text);
std::string to_text(const RateSchedule& schedule);

}  // namespace halfstep::train
