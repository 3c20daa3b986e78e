// Parameters of quantizers as float, and regions in which these parameters go by channel.
#pragma once

#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

namespace halfstep::kernels::onnx {

/// Cuts x into rows of regions. The last region of a row may be shorter. Inside a region, parameters go by the channels
/// of the walk. Each region has `parameters` parameters.
struct Regions {
  int64_t size = 0, row = 1, region = 1, per_row = 1, parameters = 0;
  elements::Walk walk;

  Regions(const Spread& spread, int64_t result_bytes) : size(spread.size()), row(size), region(size) {
    Channels channels{spread.outer, spread.extent, spread.run};
    const bool blocked = spread.run_step != 0;
    if (blocked && spread.run > 1) {
      channels = {spread.block, spread.run, 1};
      row = spread.extent * spread.run;
      region = spread.block * spread.run;
      per_row = spread.outer_step / spread.run;
      parameters = spread.run;
    } else if (blocked && spread.extent % spread.block == 0) {
      channels = {1, spread.outer * spread.outer_step, spread.block};
    } else if (blocked) {
      channels = {1, spread.outer_step, spread.block};
      row = region = spread.extent;
      parameters = spread.outer_step;
    }
    walk = elements::Walk(channels, result_bytes);
  }

  /// Calls visit(first element of the region, first of its parameters, begin, end) for the parts of regions in a piece.
  /// begin and end count from the first element.
  template <class Visit>
  void for_each(int64_t piece, Visit&& visit) const {
    const int64_t end = std::min(size, (piece + 1) * kPieceElements);
    for (int64_t i = piece * kPieceElements; i < end;) {
      const int64_t in_row = i % row / region;
      const int64_t first = i / row * row + in_row * region;
      const int64_t stop = std::min({first + region, (i / row + 1) * row, end});
      visit(first, (i / row * per_row + in_row) * parameters, i - first, stop - first);
      i = stop;
    }
  }
};

/// Scales and zero points as float. Each piece converts a single pair itself. A separate phase converts several.
class FloatParameters {
 public:
  explicit FloatParameters(const Type& scale) : count_(count_elements(scale.dims)) {}

  bool has_phase() const { return count_ != 1; }
  size_t scratch() const { return has_phase() ? static_cast<size_t>(2 * count_) * sizeof(float) : 0; }
  /// Phases of a kernel that has `pieces` pieces itself.
  std::vector<int64_t> phases(int64_t pieces) const {
    return has_phase() ? std::vector{pieces_of(count_), pieces} : std::vector{pieces};
  }
  bool is_own_phase(int phase) const { return has_phase() && phase == 0; }

  void convert(const ConstView& scale, const ConstView& zero_point, int64_t piece, std::byte* scratch) const {
    auto* scales = reinterpret_cast<float*>(scratch);
    const int64_t begin = piece * kPieceElements, end = std::min(count_, begin + kPieceElements);
    for (int64_t i = begin; i < end; ++i) scales[i] = scale_at(scale, i);
    for (int64_t i = begin; i < end; ++i) scales[count_ + i] = zero_point_at(zero_point, i);
  }

  /// Small floats have no zero point, so that theirs is 0.
  static float zero_point_at(const ConstView& zero_point, int64_t index) {
    return is_small_float(zero_point.dtype) ? 0.0F : static_cast<float>(code_at(zero_point, index));
  }

  const float* scales(const std::byte* scratch) const { return reinterpret_cast<const float*>(scratch); }
  const float* zero_points(const std::byte* scratch) const { return scales(scratch) + count_; }

 private:
  int64_t count_;
};

/// Parameters that a piece reads.
struct PieceParameters {
  PieceParameters(const FloatParameters& all, const ConstView& scale, const ConstView& zero_point,
                  const std::byte* scratch) {
    if (all.has_phase()) {
      scales = all.scales(scratch);
      zero_points = all.zero_points(scratch);
      return;
    }
    only_scale = scale_at(scale);
    only_zero_point = FloatParameters::zero_point_at(zero_point, 0);
  }
  PieceParameters(const PieceParameters&) = delete;
  PieceParameters& operator=(const PieceParameters&) = delete;

  float only_scale = 0, only_zero_point = 0;
  const float* scales = &only_scale;
  const float* zero_points = &only_zero_point;
};

}  // namespace halfstep::kernels::onnx
