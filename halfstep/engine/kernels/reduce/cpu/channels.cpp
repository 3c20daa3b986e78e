// Sums over all axes except one run of neighbours, as in the gradient of a bias. Sums are in double, in an order that
// depends only on the shape.
#include <memory>
#include <optional>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/lanes.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"

namespace halfstep::kernels {
namespace {

/// Columns of a piece, if the kept axes are the last ones.
constexpr int64_t kColumns = 64;

struct ReduceState {
  Channels channels;
  Blocks blocks;

  bool by_columns() const { return channels.run == 1 && channels.count > 1; }
};

/// The kept axes as channels, if they are neighbours.
std::optional<Channels> channels_of(const Dims& x, const std::vector<bool>& reduced) {
  Channels channels{1, 1, 1};
  size_t axis = 0;
  for (; axis < x.size() && reduced[axis]; ++axis) channels.outer *= x[axis];
  for (; axis < x.size() && !reduced[axis]; ++axis) channels.count *= x[axis];
  for (; axis < x.size() && reduced[axis]; ++axis) channels.run *= x[axis];
  if (axis < x.size()) return std::nullopt;
  return channels;
}

std::optional<Channels> channels_of(const Problem& problem) {
  const Dims& x = problem.in[ReduceSum::in::x]->dims;
  return channels_of(x, reduced_axes(x, ReduceSum(problem.attributes).axes));
}

Verdict accept_neighbours(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  const DType dtype = problem.in[ReduceSum::in::x]->dtype;
  if (dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(dtype), "f32"));
  const auto channels = channels_of(problem);
  if (!channels) return refuse(errors::kernel_needs_layout("a reduction that keeps neighbouring axes"));
  if (channels->size() == 0) return refuse(errors::kernel_takes_no_empty_operand("x"));
  return accept();
}

Plan prepare(const Problem& problem) {
  const Channels channels = *channels_of(problem);
  auto state = std::make_shared<ReduceState>(channels, Blocks(channels));
  if (state->by_columns()) {
    const int64_t pieces = ceil_div(channels.count, kColumns);
    return {.state = std::move(state), .worker_scratch = kColumns * sizeof(double), .phases = {pieces}};
  }
  const Blocks& blocks = state->blocks;
  return {
      .state = state, .scratch = static_cast<size_t>(blocks.count()) * sizeof(double), .phases = {blocks.pieces(), 1}};
}

void sum_columns(const Channels& channels, const float* src, double* sums, int64_t piece, float* dst) {
  const int64_t begin = piece * kColumns, size = std::min(kColumns, channels.count - begin);
  std::fill_n(sums, size, 0.0);
  for (int64_t row = 0; row < channels.outer; ++row) {
    for (int64_t i = 0; i < size; ++i) sums[i] += double{src[row * channels.count + begin + i]};
  }
  for (int64_t i = 0; i < size; ++i) dst[begin + i] = static_cast<float>(sums[i]);
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& [channels, blocks] = state_of<ReduceState>(call);
  const auto* src = call.in[ReduceSum::in::x].as<const float>();
  auto* dst = call.out[0].as<float>();
  if (state_of<ReduceState>(call).by_columns()) {
    sum_columns(channels, src, reinterpret_cast<double*>(call.worker_scratch), piece, dst);
    return {};
  }
  auto* sums = reinterpret_cast<double*>(call.scratch);
  if (phase == 0) {
    for (int64_t block = blocks.piece_begin(piece); block < blocks.piece_end(piece); ++block) {
      SumLanes lanes{};
      blocks.for_each_slice(block,
                            [&](int64_t begin, int64_t size, int64_t) { add_in_lanes(src + begin, size, lanes); });
      sums[block] = sum_of_lanes(lanes);
    }
    return {};
  }
  for (int64_t channel = 0; channel < channels.count; ++channel) {
    double sum = 0.0;
    for (int64_t i = 0; i < blocks.per_channel(); ++i) sum += sums[channel * blocks.per_channel() + i];
    dst[channel] = static_cast<float>(sum);
  }
  return {};
}

}  // namespace

extern const Kernel cpu_reduce_sum_channels{"channels", accept_neighbours, prepare, run};

}  // namespace halfstep::kernels
