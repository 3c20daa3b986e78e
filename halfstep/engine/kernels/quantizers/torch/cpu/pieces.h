// Pieces of elementwise work that PyTorch's kernels share, and the memory of channel parameters.
#pragma once

#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/quantizers/torch/fake_quantize.h"

namespace halfstep::kernels::torch {

/// Computes elements [begin, end). `parameters` has the scales of all channels, their reciprocals and zero points, in
/// the type of computation. The forward pass has no out_grad.
using PieceFunction = void (*)(const elements::Walk& walk, const Grid& grid, const void* parameters, const void* src,
                               const void* out_grad, void* dst, int64_t begin, int64_t end);

PieceFunction forward_piece(RuleKind rule, DType dtype, CpuLevel level);
PieceFunction backward_piece(RuleKind rule, DType dtype, CpuLevel level);

/// Writes the parameters of a channel to arrays of `count` channels.
template <class C>
void lay_out(const Parameters& p, int64_t channel, int64_t count, C* arrays) {
  arrays[channel] = static_cast<C>(p.scale);
  arrays[count + channel] = static_cast<C>(p.inverse);
  arrays[2 * count + channel] = static_cast<C>(p.zero_point);
}

/// Arrays of parameters by channel. With few channels, each piece derives them itself. With more, a separate phase
/// derives them once.
class ChannelArrays {
 public:
  ChannelArrays() = default;
  ChannelArrays(int64_t channels, size_t arrays) : channels_(channels), arrays_(arrays) {}

  /// The plan of `pieces` pieces that use the arrays.
  Plan plan(int64_t pieces) const {
    Plan plan;
    const size_t bytes = arrays_ * static_cast<size_t>(channels_) * sizeof(double);
    (is_few() ? plan.worker_scratch : plan.scratch) = bytes;
    plan.phases = {pieces};
    if (!is_few()) plan.phases.insert(plan.phases.begin(), 1);
    return plan;
  }
  std::byte* memory(const Call& call) const { return is_few() ? call.worker_scratch : call.scratch; }
  bool derives(int phase) const { return phase == 0; }
  bool works(int phase) const { return phase == (is_few() ? 0 : 1); }

 private:
  static constexpr int64_t kFewChannels = 64;
  bool is_few() const { return channels_ <= kFewChannels; }

  int64_t channels_ = 1;
  size_t arrays_ = 1;
};

}  // namespace halfstep::kernels::torch
