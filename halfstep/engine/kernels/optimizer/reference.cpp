// Optimizer steps, and the norm of all gradients. A result may share memory with the operand whose next state it is.
// Blocks of the norm do not depend on the level and the number of threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/optimizer/rule.h"

namespace halfstep::kernels {
namespace {

Plan prepare_sgd(const Problem& problem) { return {.state = std::make_shared<SgdMomentum>(problem.attributes)}; }

Status run_sgd(const Call& call, int, int64_t) {
  using In = SgdMomentum::in;
  using Out = SgdMomentum::out;
  const SgdStep step(state_of<SgdMomentum>(call), call);
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* velocity = call.in[In::velocity].as<const float>();
  auto* param_out = call.out[Out::param_out].as<float>();
  auto* velocity_out = call.out[Out::velocity_out].as<float>();
  const int64_t size = call.in[In::param].size();
  for (int64_t i = 0; i < size; ++i) {
    const float next = step.momentum * velocity[i] + (step.clip * grad[i] + step.weight_decay * param[i]);
    const float moved = param[i] - step.learning_rate * next;
    velocity_out[i] = next;
    param_out[i] = step.positive ? clamped_positive(param[i], moved) : moved;
  }
  return {};
}

Plan prepare_adam(const Problem& problem) {
  return {.state = std::make_shared<Adam>(problem.attributes), .phases = {1, 1}};
}

Status run_adam(const Call& call, int phase, int64_t) {
  using In = Adam::in;
  using Out = Adam::out;
  const AdamStep step(state_of<Adam>(call), call);
  if (phase == 1) {
    step.write_powers(call);
    return {};
  }
  const auto* param = call.in[In::param].as<const float>();
  const auto* grad = call.in[In::grad].as<const float>();
  const auto* moment1 = call.in[In::moment1].as<const float>();
  const auto* moment2 = call.in[In::moment2].as<const float>();
  const int64_t size = call.in[In::param].size();
  for (int64_t i = 0; i < size; ++i) {
    const float clipped = step.clip * grad[i];
    const float first = step.beta1 * moment1[i] + step.rest1 * clipped;
    const float second = step.beta2 * moment2[i] + step.rest2 * clipped * clipped;
    const float direction = first / step.correction1 / (std::sqrt(second / step.correction2) + step.epsilon);
    const float moved = param[i] - step.learning_rate * (direction + step.weight_decay * param[i]);
    call.out[Out::param_out].as<float>()[i] = step.positive ? clamped_positive(param[i], moved) : moved;
    call.out[Out::moment1_out].as<float>()[i] = first;
    call.out[Out::moment2_out].as<float>()[i] = second;
  }
  return {};
}

/// Scratch: the sum of each piece. A piece has kPieceElements elements of one operand.
struct VectorNormState {
  float bound;
  std::vector<int64_t> first_piece;  ///< first piece of each operand
  int64_t pieces = 0;
};

Plan prepare_vector_norm(const Problem& problem) {
  VectorNormState state{static_cast<float>(VectorNorm(problem.attributes).bound), {}};
  for (const Type* x : problem.in.subspan(VectorNorm::in::x)) {
    state.first_piece.push_back(state.pieces);
    state.pieces += pieces_of(count_elements(x->dims));
  }
  const int64_t pieces = std::max<int64_t>(1, state.pieces);
  return {.state = std::make_shared<VectorNormState>(std::move(state)),
          .scratch = static_cast<size_t>(pieces) * sizeof(double),
          .phases = {pieces, 1}};
}

/// Sums in eight lanes, which are added pairwise at the end.
double sum_of_squares(const float* x, int64_t size) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  const int64_t whole = size / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[static_cast<size_t>(l)] += double{x[i + l]} * double{x[i + l]};
  }
  for (int64_t i = whole; i < size; ++i) lanes[static_cast<size_t>(i - whole)] += double{x[i]} * double{x[i]};
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

Status run_vector_norm(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<VectorNormState>(call);
  auto* sums = reinterpret_cast<double*>(call.scratch);
  if (phase == 0) {
    const auto next = std::ranges::upper_bound(state.first_piece, piece);
    if (next == state.first_piece.begin()) return {};
    const ConstView& x =
        call.in[static_cast<size_t>(VectorNorm::in::x) + static_cast<size_t>(next - state.first_piece.begin() - 1)];
    const int64_t begin = (piece - *(next - 1)) * kPieceElements;
    sums[piece] = sum_of_squares(x.as<const float>() + begin, std::min(kPieceElements, x.size() - begin));
    return {};
  }
  double sum = 0;
  for (int64_t i = 0; i < state.pieces; ++i) sum += sums[i];
  const auto norm = static_cast<float>(std::sqrt(sum));
  call.out[VectorNorm::out::norm].as<float>()[0] = norm;
  call.out[VectorNorm::out::clip].as<float>()[0] = norm > state.bound ? state.bound / norm : 1.0F;
  return {};
}

}  // namespace

extern const Kernel reference_vector_norm{"reference", accept_all, prepare_vector_norm, run_vector_norm};
extern const Kernel reference_sgd_momentum{"reference", accept_all, prepare_sgd, run_sgd};
extern const Kernel reference_adam{"reference", accept_all, prepare_adam, run_adam};

}  // namespace halfstep::kernels
