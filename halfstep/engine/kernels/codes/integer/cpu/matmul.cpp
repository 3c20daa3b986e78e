// integer_matmul and its fused form: products of one-byte codes, then stored multipliers.
#include <fmt/format.h>

#include <memory>

#include "halfstep/engine/kernels/codes/integer/cpu/code_matmul.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace integer {
namespace {

/// Largest distance of a one-byte code from a zero point in the range of codes.
constexpr int64_t kFarthest = 383;

struct MatmulState {
  template <class Typed>
  MatmulState(const Problem& problem, const Typed& attributes);

  CodeMatmul matmul;
  ZeroPoints zero_points;
  CodeRange range;
  LaneSteps lane_steps[2] = {};  ///< two equal LaneSteps
  ToCodes to_codes;
};

template <class Typed>
MatmulState::MatmulState(const Problem& problem, const Typed& attributes)
    : matmul(Contraction::of(attributes, problem), problem.in[0]->dtype, problem.in[1]->dtype, problem.level),
      zero_points{attributes.a_zero_point, attributes.b_zero_point},
      range(range_of(attributes, problem.out[0]->dtype)) {
  const arith::ShiftRounding rounding = shift_rounding(attributes);
  const arith::Requantizer scale = stored_scale(attributes.multiplier, attributes.shift, rounding);
  for (LaneSteps& steps : lane_steps) {
    for (int64_t lane = 0; lane < kLanes; ++lane) steps.set(lane, 0, scale);
  }
  const bool is_wide_out = is_wide(problem.out[0]->dtype);
  const CodesOfForm codes = choose_codes(problem.level, arith::Requantization::fixed_point, rounding, is_wide_out);
  to_codes = lane_steps[0].is_general ? codes.general : codes.plain;
}

template <class Typed>
Verdict accept_matmul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  const Typed a(problem.attributes);
  for (const int port : {Typed::in::a, Typed::in::b}) {
    if (is_wide(problem.in[port]->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(problem.in[port]->dtype), "codes of one byte"));
  }
  for (const int64_t zero_point : {a.a_zero_point, a.b_zero_point}) {
    if (zero_point < -128 || zero_point > 255)
      return refuse(errors::kernel_is_for_other_zero_points(zero_point, "-128 to 255"));
  }
  const int64_t depth = Contraction::of(a, problem).depth;
  if (depth > arith::kMostInInt32 / (kFarthest * kFarthest))
    return refuse(errors::kernel_sum_too_large(fmt::format("{} products", depth), "32 bits"));
  return accept_zero_point(a.y_zero_point, problem.out[0]->dtype);
}

template <class Typed>
Plan prepare_matmul(const Problem& problem) {
  const auto state = std::make_shared<MatmulState>(problem, Typed(problem.attributes));
  const CodeMatmul& matmul = state->matmul;
  const int64_t batches = matmul.product().batches;
  return {.state = state,
          .scratch = static_cast<size_t>(batches * matmul.b_bytes()),
          .worker_scratch = static_cast<size_t>(matmul.a_bytes()),
          .phases = {batches, batches * matmul.blocks()}};
}

Status run_matmul(const Call& call, int phase, int64_t piece) {
  using In = IntegerMatmul::in;
  const auto& state = state_of<MatmulState>(call);
  const CodeMatmul& matmul = state.matmul;
  const Contraction& p = matmul.product();
  const int64_t batch = phase == 0 ? piece : piece / matmul.blocks(), block = piece % matmul.blocks();
  std::byte* b = call.scratch + batch * matmul.b_bytes();
  if (phase == 0) {
    matmul.pack_b(state.zero_points, element_of(call.in[In::b], p.b.begin(batch)), b);
    return {};
  }
  matmul.pack_a(state.zero_points, element_of(call.in[In::a], p.a.begin(batch)), block, call.worker_scratch);
  const int64_t first = p.out_place(batch * p.rows + matmul.first_row(block));
  matmul.multiply(state.zero_points, call.worker_scratch, b, block, [&](const SumsTile& tile) {
    state.to_codes(state.range, {.acc = tile.sums,
                                 .steps = state.lane_steps,
                                 .dst = element_of(call.out[0], first + tile.row * p.out.step() + tile.column),
                                 .step = p.out.step(),
                                 .pixels = tile.rows,
                                 .channels = tile.columns});
  });
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_matmul_tiles{"tiles", integer::accept_matmul<IntegerMatmul>,
                                             integer::prepare_matmul<IntegerMatmul>, integer::run_matmul};
extern const Kernel cpu_fused_integer_matmul_tiles{"tiles", integer::accept_matmul<FusedIntegerMatmul>,
                                                   integer::prepare_matmul<FusedIntegerMatmul>, integer::run_matmul};

}  // namespace halfstep::kernels
