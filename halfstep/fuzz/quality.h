// How far the answers of an integer program are from those of the float network, against what its widths allow.
#pragma once

#include <optional>
#include <string>

#include "halfstep/fuzz/network_trial.h"

namespace halfstep::fuzz {

/// Draws that are judged of every network.
inline constexpr uint64_t kDraws = 3;

/// With `draws` of them, kDraws at least.
Answered answer(Trial& trial, uint64_t draws);

/// What the widths of a prepared network allow.
Grid grid_of(const Model& prepared);

/// One output, or one channel of it, over all samples.
struct Quality {
  std::string what;      ///< "output 'y'", "channel 3 of output 'y'"
  double sqnr = 0;       ///< dB, of the integer program to the float network
  double expected = 0;   ///< dB, of the float network with every value rounded
  int64_t elements = 0;  ///< of all samples
  double excess() const { return expected - sqnr; }
};

/// The worst of all outputs, by how far it is below what is expected. Throws Skipped with the reason where none can be
/// judged.
Quality worst_quality(const Answered& answered);

/// "", or which samples have another answer than the float network's: that of another sample, or another largest
/// element though the float network's stands out of the noise.
std::string moved_answers(const Answered& answered);

/// A channel of which nothing is left, though steps of its own would do: it lies within a step that it shares with
/// others. Nothing where there is none.
std::optional<Quality> crushed_part(const Answered& answered);

}  // namespace halfstep::fuzz
