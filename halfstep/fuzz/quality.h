// Compares the error of an integer program with the error that its bit widths allow.
#pragma once

#include <optional>
#include <string>

#include "halfstep/fuzz/network_trial.h"

namespace halfstep::fuzz {

/// Minimum number of draws for every network.
inline constexpr uint64_t kDraws = 3;

/// Computes the outputs with `draws` draws, at least kDraws.
Answered answer(Trial& trial, uint64_t draws);

/// The rounding that the bit widths of a prepared network imply.
Grid grid_of(const Model& prepared);

/// Quality of one output or one of its channels, over all samples.
struct Quality {
  std::string what;      ///< "output 'y'", "channel 3 of output 'y'"
  double sqnr = 0;       ///< SQNR in dB of the integer program relative to the float network
  double expected = 0;   ///< SQNR in dB of the float network with every value rounded
  int64_t elements = 0;  ///< number of elements in all samples
  double excess() const { return expected - sqnr; }
};

/// The output whose SQNR is farthest below its expectation. Throws Skipped with the reason if none can be judged.
Quality worst_quality(const Answered& answered);

/// "", or the samples whose output changed: it is closer to the output of another sample, or another element is the
/// largest although the float network's maximum clearly exceeds the noise.
std::string moved_answers(const Answered& answered);

/// A channel that lost its signal because it shares a coarse step with others, although a step of its own would keep
/// it. nullopt if there is none.
std::optional<Quality> crushed_part(const Answered& answered);

}  // namespace halfstep::fuzz
