// drop_quantized and its gradient on vectors. Each 64-bit lane computes a Philox block of four numbers.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/learning/cpu/drop.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/quantizers/learning/elements.h"

#ifndef HALFSTEP_KERNELS_LEARNING_CPU_DROP_ONCE
#define HALFSTEP_KERNELS_LEARNING_CPU_DROP_ONCE
namespace halfstep::kernels::learning {

struct DropState;
/// Computes elements [begin, end) of a call.
using DropPiece = void (*)(const DropState& state, const Call& call, int64_t begin, int64_t end);

struct DropState {
  int64_t size;
  DropPiece piece;
  uint64_t seed = 0;   ///< seed of Dropping::Rule
  uint32_t below = 0;  ///< an element is quantized if its random number is smaller
};

}  // namespace halfstep::kernels::learning
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::learning::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using U32 = hn::ScalableTag<uint32_t>;
using U64 = hn::ScalableTag<uint64_t>;
using Bytes = hn::Rebind<uint8_t, I32>;
using V64 = hn::Vec<U64>;

/// Writes the numbers of philox(seed, stream, ...) for the blocks from `block` on, in the order of the blocks. Each
/// 64-bit lane computes one block.
HWY_INLINE void draw(uint64_t seed, uint64_t stream, uint64_t block, uint32_t* HWY_RESTRICT to) {
  const U64 d;
  const V64 low = hn::Set(d, 0xFFFFFFFF);
  const auto product = [](V64 a, uint32_t factor) {
    return hn::MulEven(hn::BitCast(U32(), a), hn::Set(U32(), factor));
  };
  const V64 blocks = hn::Add(hn::Iota(d, 0), hn::Set(d, block));
  V64 c0 = hn::And(blocks, low), c1 = hn::ShiftRight<32>(blocks);
  V64 c2 = hn::Set(d, stream & 0xFFFFFFFF), c3 = hn::Set(d, stream >> 32);
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const V64 a = product(c0, 0xD2511F53), b = product(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, k0));
    c1 = hn::And(b, low);
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, k1));
    c3 = hn::And(a, low);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  hn::StoreInterleaved2(hn::Or(c0, hn::ShiftLeft<32>(c1)), hn::Or(c2, hn::ShiftLeft<32>(c3)), d,
                        reinterpret_cast<uint64_t*>(to));
}

void drop_piece(const DropState& state, const Call& call, int64_t begin, int64_t end) {
  using Op = DropQuantized;
  constexpr int64_t kLanes = HWY_LANES(int32_t),
                    kDrawn = 2 * kLanes;  // numbers of one call: a block of four for each 64-bit lane
  const auto* x = at<const float>(call, Op::in::x);
  const auto* quantized = at<const float>(call, Op::in::quantized);
  const auto step = static_cast<uint64_t>(*at<const int64_t>(call, Op::in::step));
  auto* out = call.out[Op::out::out_].as<float>();
  auto* kept = reinterpret_cast<uint8_t*>(call.out[Op::out::kept].as<bool>());
  const auto below = hn::Set(U32(), state.below);
  HWY_ALIGN uint32_t drawn[kDrawn];
  for (int64_t run = begin; run < end; run += kDrawn) {
    draw(state.seed, step, static_cast<uint64_t>(run / Dropping::kAtOnce), drawn);
    const int64_t count = std::min(kDrawn, end - run), whole = count / kLanes * kLanes;
    for (int64_t k = 0; k < whole; k += kLanes) {
      const int64_t i = run + k;
      const auto keeps = hn::Lt(hn::Load(U32(), drawn + k), below);
      const auto flags = hn::IfThenElseZero(keeps, hn::Set(U32(), 1));
      const auto chosen =
          hn::IfThenElse(hn::RebindMask(F32(), keeps), hn::LoadU(F32(), quantized + i), hn::LoadU(F32(), x + i));
      hn::StoreU(chosen, F32(), out + i);
      hn::StoreU(hn::DemoteTo(Bytes(), hn::BitCast(I32(), flags)), Bytes(), kept + i);
    }
    for (int64_t k = whole; k < count; ++k) {
      kept[run + k] = drawn[k] < state.below ? 1 : 0;
      out[run + k] = kept[run + k] != 0 ? quantized[run + k] : x[run + k];
    }
  }
}

void drop_gradient_piece(const DropState&, const Call& call, int64_t begin, int64_t end) {
  using Op = DropQuantizedGrad;
  constexpr int64_t kLanes = HWY_LANES(int32_t);
  const auto* kept = reinterpret_cast<const uint8_t*>(at<const bool>(call, Op::in::kept));
  const auto* out_grad = at<const float>(call, Op::in::out_grad);
  auto* x_grad = call.out[Op::out::x_grad].as<float>();
  auto* quantized_grad = call.out[Op::out::quantized_grad].as<float>();
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const auto flags = hn::PromoteTo(I32(), hn::LoadU(Bytes(), kept + i));
    const auto keeps = hn::RebindMask(F32(), hn::Ne(flags, hn::Zero(I32())));
    const auto gradient = hn::LoadU(F32(), out_grad + i);
    hn::StoreU(hn::IfThenZeroElse(keeps, gradient), F32(), x_grad + i);
    hn::StoreU(hn::IfThenElseZero(keeps, gradient), F32(), quantized_grad + i);
  }
  for (; i < end; ++i) {
    x_grad[i] = kept[i] != 0 ? 0.0F : out_grad[i];
    quantized_grad[i] = kept[i] != 0 ? out_grad[i] : 0.0F;
  }
}

}  // namespace halfstep::kernels::learning::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace learning {
namespace {

Verdict accept_drop(const Problem& problem) {
  const DropQuantized attributes(problem.attributes);
  if (attributes.is_test || attributes.keep == 1.0)
    return refuse(errors::kernel_is_for_other_options("no random numbers", "is_test false and keep below 1"));
  return accept_simd(problem);
}

Plan prepare_drop(const Problem& problem) {
  const Dropping::Rule rule{DropQuantized(problem.attributes)};
  const int64_t size = count_elements(problem.in[DropQuantized::in::x]->dims);
  auto state = std::make_shared<DropState>(size, HS_SIMD_CHOOSE(problem.level, drop_piece), rule.seed,
                                           static_cast<uint32_t>(rule.below));
  return {.state = std::move(state), .phases = {pieces_of(size), 1}};
}

Plan prepare_drop_gradient(const Problem& problem) {
  const int64_t size = count_elements(problem.in[DropQuantizedGrad::in::out_grad]->dims);
  return {.state = std::make_shared<DropState>(size, HS_SIMD_CHOOSE(problem.level, drop_gradient_piece)),
          .phases = {pieces_of(size)}};
}

Status run_lanes(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<DropState>(call);
  if (phase == 1) {
    *call.out[DropQuantized::out::step_out].as<int64_t>() = *at<const int64_t>(call, DropQuantized::in::step) + 1;
    return {};
  }
  const int64_t begin = piece * kPieceElements;
  state.piece(state, call, begin, std::min(begin + kPieceElements, state.size));
  return {};
}

}  // namespace
}  // namespace learning

extern const Kernel cpu_drop_quantized_lanes{"lanes", learning::accept_drop, learning::prepare_drop,
                                             learning::run_lanes};
extern const Kernel cpu_drop_quantized_grad_lanes{"lanes", accept_simd, learning::prepare_drop_gradient,
                                                  learning::run_lanes};

}  // namespace halfstep::kernels
#endif
