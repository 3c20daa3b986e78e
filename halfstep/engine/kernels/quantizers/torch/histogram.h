// A histogram over a growing range, and the part of the range with the smallest quantization error. Follows PyTorch's
// HistogramObserver (docs/arithmetic.md, section 10).
#pragma once

#include <cstdint>
#include <span>

#include "halfstep/engine/kernels/quantizers/torch/range.h"

namespace halfstep::kernels::torch {

/// Index of x among `bins` equal bins from low to high. The last bin includes its end. If low equals high, the bins
/// cover [low - 1, high + 1].
int64_t bin_of(float x, const Extremes& range, int64_t bins);

/// Adds the counts of a histogram over `from` to bins over `to`, which contains `from`. Each old bin is cut into 16
/// equal parts. Each part goes whole into the bin that holds its middle.
void move_counts(std::span<const float> counts, const Extremes& from, const Extremes& to, std::span<float> moved);

/// The part of the range to quantize over. The search starts with all bins. Quantiles advance by 1e-5 from both ends,
/// and the end that drops more bins moves. The search stops when the squared error grows. It assumes 8-bit codes and
/// uniform values within a bin. `cumulative` is scratch with one float for each bin.
Extremes best_range(std::span<const float> counts, const Extremes& range, std::span<float> cumulative);

}  // namespace halfstep::kernels::torch
