// Gradients of weights through oneDNN. Each block of images yields a partial gradient, and these are added in the order
// of the blocks.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/image/conv/cpu/cut.h"
#include "halfstep/engine/kernels/image/conv/cpu/onednn_problem.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Weights that one piece of the second phase sums.
constexpr int64_t kSumPiece = 8192;

struct GradWState {
  ConvCut cut;
  int64_t weights;
  onednn::Convolution body = {}, tail = {};
};

template <class Typed>
Plan prepare(const Problem& problem) {
  const ConvGeometry g = geometry_of(window_of<Typed>(problem, ConvPass::grad_w));
  auto state = std::make_shared<GradWState>(ConvCut(ConvCut::Pass::grad_w, g), g.weights());
  const ConvCut& cut = state->cut;
  state->body = onednn::Convolution(cut.spec(false, false));
  Plan plan{.state = state, .worker_scratch = state->body.scratch(), .phases = {cut.pieces()}};
  if (cut.has_tail()) {
    state->tail = onednn::Convolution(cut.spec(true, false));
    plan.worker_scratch = std::max(plan.worker_scratch, state->tail.scratch());
  }
  if (cut.blocks() > 1) {
    plan.scratch = static_cast<size_t>(cut.blocks() * state->weights) * sizeof(float);
    plan.phases.push_back(ceil_div(state->weights, kSumPiece));
  }
  return plan;
}

void add_up(const float* partials, int64_t blocks, int64_t weights, int64_t piece, float* dst) {
  const int64_t begin = piece * kSumPiece, size = std::min(kSumPiece, weights - begin);
  std::copy_n(partials + begin, size, dst + begin);
  for (int64_t block = 1; block < blocks; ++block) {
    const float* partial = partials + block * weights + begin;
    for (int64_t i = 0; i < size; ++i) dst[begin + i] += partial[i];
  }
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<GradWState>(call);
  auto* partials = reinterpret_cast<float*>(call.scratch);
  auto* dst = call.out[0].as<float>();
  if (phase == 1) {
    add_up(partials, state.cut.blocks(), state.weights, piece, dst);
    return {};
  }
  const ConvCut::Place place = state.cut.place(piece);
  float* to = state.cut.blocks() == 1 ? dst : partials + place.block * state.weights;
  return (place.tail ? state.tail : state.body)
      .grad_w(call.in[0].as<const float>() + place.x, call.in[1].as<const float>() + place.out, to + place.weights,
              call.worker_scratch);
}

}  // namespace

extern const Kernel cpu_conv_grad_w_onednn{"onednn", accept_convolution<ConvGradW, ConvPass::grad_w>,
                                           prepare<ConvGradW>, run};
extern const Kernel cpu_conv2d_grad_w_onednn{"onednn", onednn::accept_f32, prepare<Conv2dGradW>, run};

}  // namespace halfstep::kernels
