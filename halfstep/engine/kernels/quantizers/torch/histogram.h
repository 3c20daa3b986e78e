// A histogram over a range that grows, and the part of the range with the smallest quantization error, as PyTorch's
// HistogramObserver has them: docs/arithmetic.md, section 10.
#pragma once

#include <cstdint>
#include <span>

#include "halfstep/engine/kernels/quantizers/torch/range.h"

namespace halfstep::kernels::torch {

/// The bin of x among `bins` equal ones from low to high; the last one is closed. One value has a bin of width 2.
int64_t bin_of(float x, const Extremes& range, int64_t bins);

/// Adds the counts of a histogram over `from` to the bins over `to`, which holds `from`: each bin in 16 equal parts,
/// each part whole into the bin that holds its middle.
void move_counts(std::span<const float> counts, const Extremes& from, const Extremes& to, std::span<float> moved);

/// The part of the range to quantize over. From all bins, quantiles advance by 1e-5 from both ends, the end that drops
/// more bins moves, and the first larger squared error ends it. Codes of 8 bits; values uniform within a bin.
/// `cumulative` is scratch of as many floats.
Extremes best_range(std::span<const float> counts, const Extremes& range, std::span<float> cumulative);

}  // namespace halfstep::kernels::torch
