// Parts that the kernels of the learned quantizers' gradients share.
#pragma once

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/torch/parameters.h"

namespace halfstep::kernels::torch {

/// Cuts a channel into blocks for its sums. The cut depends only on the shape. Long runs are cut along runs, like in
/// Blocks. Otherwise a block has at least kFewestRows rows, about kPieceElements elements with all channels.
class SumBlocks {
 public:
  SumBlocks() = default;
  explicit SumBlocks(const Channels& channels) : channels_(channels), long_(channels) {
    if (channels.size() == 0 || channels.run >= kSumLanes || channels.count == 1) return;
    block_rows_ = std::max(kFewestRows, kPieceElements / (channels.count * channels.run));
  }

  bool by_rows() const { return block_rows_ > 0; }
  int64_t block_rows() const { return block_rows_; }
  const Blocks& along_runs() const { return long_; }
  int64_t per_channel() const { return by_rows() ? ceil_div(channels_.outer, block_rows_) : long_.per_channel(); }

  /// Calls visit(begin, size) for every slice of block `block` of a channel, in order.
  template <class Visit>
  void for_each_slice(int64_t channel, int64_t block, Visit&& visit) const {
    if (!by_rows())
      return long_.for_each_slice(channel * per_channel() + block,
                                  [&](int64_t begin, int64_t size, int64_t) { visit(begin, size); });
    const int64_t last = std::min(channels_.outer, (block + 1) * block_rows_);
    for (int64_t row = block * block_rows_; row < last; ++row)
      visit((row * channels_.count + channel) * channels_.run, channels_.run);
  }

 private:
  static constexpr int64_t kFewestRows = 64;

  Channels channels_;
  Blocks long_;
  int64_t block_rows_ = 0;
};

/// One use of either gradient operator. Their operands and results have equal positions.
struct LearnableGrad {
  using In = FakeQuantizeLearnablePerChannelAffineGrad::in;
  using Out = FakeQuantizeLearnablePerChannelAffineGrad::out;

  Grid grid;
  float factor = 1.0F;
  DType dtype = DType::f32;
  Channels channels;
  SumBlocks blocks;
  bool per_tensor = false;

  explicit LearnableGrad(const Problem& problem);

  ParameterSource parameters(const Call& call) const {
    ParameterSource source;
    source.form = per_tensor ? ZeroPointForm::truncated : ZeroPointForm::nearest;
    source.grid = grid;
    source.scale = Numbers(call.in[In::scale]);
    source.zero_point = Numbers(call.in[In::zero_point]);
    return source;
  }
};

static_assert(FakeQuantizeLearnablePerTensorAffineGrad::in::scale == LearnableGrad::In::scale &&
              FakeQuantizeLearnablePerTensorAffineGrad::in::zero_point == LearnableGrad::In::zero_point &&
              FakeQuantizeLearnablePerTensorAffineGrad::in::out_grad == LearnableGrad::In::out_grad &&
              FakeQuantizeLearnablePerTensorAffineGrad::out::zero_point_grad == LearnableGrad::Out::zero_point_grad);

}  // namespace halfstep::kernels::torch
