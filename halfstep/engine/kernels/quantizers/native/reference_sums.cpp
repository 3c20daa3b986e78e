// Reference kernels of the quantizer operators that add over channels (docs/arithmetic.md, sections 2 and 3).
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/native/observe.h"
#include "halfstep/engine/kernels/quantizers/native/rule.h"

namespace halfstep::kernels {
namespace {

struct ScaleGradState {
  arith::CodeRule rule;
  double gradient_scale;
  Blocks blocks;
};

Plan prepare_scale_grad(const Problem& problem) {
  const FakeQuantizeScaleGrad attributes(problem.attributes);
  const Channels channels = Channels::of(problem.in[FakeQuantizeScaleGrad::in::x]->dims, attributes.axis);
  return {.state = std::make_shared<ScaleGradState>(rule_of(attributes), attributes.gradient_scale, Blocks(channels))};
}

Status run_scale_grad(const Call& call, int, int64_t) {
  using In = FakeQuantizeScaleGrad::in;
  const auto& state = state_of<ScaleGradState>(call);
  const auto* src = call.in[In::x].as<const float>();
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  const ConstView& scales = call.in[In::scale];
  auto* dst = call.out[FakeQuantizeScaleGrad::out::out_].as<float>();
  for (int64_t c = 0; c < scales.size(); ++c) {
    const float scale = scales.as<const float>()[c];
    const int32_t zero_point = call.in[In::zero_point].as<const int32_t>()[c];
    const double sum = channel_sum(state.blocks, c, [&](int64_t i) {
      const float unclamped = arith::unclamped_code(src[i], scale, zero_point, state.rule);
      if (std::isnan(unclamped)) return 0.0;
      const float steps = arith::steps_of(src[i], scale, state.rule);
      return static_cast<double>(out_grad[i]) * arith::scale_slope(steps, unclamped, zero_point, state.rule);
    });
    dst[c] = static_cast<float>(state.gradient_scale * sum);
  }
  return {};
}

Plan prepare_observe_range(const Problem& problem) { return {.state = std::make_shared<Observer>(problem)}; }

Range batch_range(const Call& call, const Observer& observer, int64_t channel) {
  Range range;
  for (size_t k = 0; k < observer.operands.size(); ++k) {
    const auto* src = call.in[ObserveRange::in::x + k].as<const float>();
    const Blocks& blocks = observer.operands[k];
    for (int64_t b = 0; b < blocks.per_channel(); ++b) {
      blocks.for_each_slice(channel * blocks.per_channel() + b, [&](int64_t begin, int64_t size, int64_t) {
        for (int64_t i = begin; i < begin + size; ++i) {
          if (!std::isfinite(src[i])) continue;
          range.low = std::min(range.low, src[i]);
          range.high = std::max(range.high, src[i]);
        }
      });
    }
  }
  return {range.low + 0.0F, range.high + 0.0F};  // -0 becomes 0, so that the order of zeros does not matter
}

/// Sums over the elements of a channel.
std::vector<arith::ExactSum> channel_sums(const Call& call, const Observer& observer, int64_t channel, Range range) {
  std::vector<arith::ExactSum> sums(static_cast<size_t>(observer.terms()));
  if (sums.empty() || !range.seen()) return sums;
  const arith::TermGrids grids = observer.rule.term_grids(range);
  std::vector<arith::TermParts> block(sums.size());
  for (size_t k = 0; k < observer.operands.size(); ++k) {
    const Blocks& blocks = observer.operands[k];
    for (int64_t b = 0; b < blocks.per_channel(); ++b) {
      add_terms(observer, range, blocks, channel * blocks.per_channel() + b,
                call.in[static_cast<size_t>(ObserveRange::in::x) + k].as<const float>(), block.data());
      for (size_t i = 0; i < sums.size(); ++i) sums[i].add(block[i], grids[static_cast<int64_t>(i)]);
    }
  }
  return sums;
}

Status run_observe_range(const Call& call, int, int64_t) {
  const auto& observer = state_of<Observer>(call);
  if (observer.is_test) return {};
  for (int64_t c = 0; c < observer.channels; ++c) {
    const Range before = range_before(call, c);
    const Range batch = observer.sees_parts() ? before : batch_range(call, observer, c);
    const Range range = observer.rule.range_of_terms(before, batch);
    update_channel(call, observer, c, batch, channel_sums(call, observer, c, batch.seen() ? range : batch));
  }
  return {};
}

}  // namespace

extern const Kernel reference_fake_quantize_scale_grad{"reference", accept_all, prepare_scale_grad, run_scale_grad};
extern const Kernel reference_observe_range{"reference", accept_observer, prepare_observe_range, run_observe_range};

}  // namespace halfstep::kernels
