// attention and fused_attention in float32. A piece is a block of queries of one head, whose scores stay in the cache
// between the two products.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/matrix/attention.h"
#include "halfstep/engine/kernels/ops.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/matrix/cpu/attention.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after the targets, because they are compiled once for each.
#include "halfstep/engine/kernels/common/simd/squares-inl.h"
#include "halfstep/engine/kernels/matrix/cpu/tiles-inl.h"
#include "halfstep/engine/kernels/reduce/cpu/exponentials-inl.h"

#ifndef HALFSTEP_KERNELS_MATRIX_ATTENTION
#define HALFSTEP_KERNELS_MATRIX_ATTENTION
namespace halfstep::kernels::attention {

/// Keys that are multiplied with the queries of a block at once.
constexpr int64_t kKeys = 256;
/// Rows of scores are a multiple of this many elements apart: whole vectors of any level.
constexpr int64_t kRound = 16;

/// One head for a block of queries. Steps are between rows.
struct Head {
  const float *q, *k, *v;
  const float* mask;    ///< mask of the first query, to be added to scores, may be null
  const bool* allowed;  ///< boolean mask of the first query, may be null
  float* out;
  int64_t q_step, k_step, v_step, out_step, mask_row, mask_column;
  int64_t queries, keys, size, v_size;
  int64_t seen;  ///< keys that the first query sees. Each further query sees one more
  float scale;
  bool blind_gives_zero;
  float *scores, *packed;  ///< worker scratch: [queries, keys rounded up], and [size, kKeys]

  int64_t score_step() const { return round_up(keys, kRound); }
};

}  // namespace halfstep::kernels::attention
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::attention::HWY_NAMESPACE {
using matrix::HWY_NAMESPACE::kLanes;
using matrix::HWY_NAMESPACE::multiply;
using reduce::HWY_NAMESPACE::exponentials;
using squares::HWY_NAMESPACE::turn;

/// Packs keys as columns. Zeros fill the last vector.
void pack(const Head& h, int64_t first, int64_t count) {
  turn(h.k + first * h.k_step, h.k_step, count, h.size, h.packed, kKeys);
  for (int64_t i = 0; i < h.size; ++i)
    std::fill(h.packed + i * kKeys + count, h.packed + i * kKeys + round_up(count, kLanes), 0.0F);
}

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Whether the mask hides all of the first `seen` keys from a query.
bool is_blind(const Head& h, int64_t query, int64_t seen) {
  const int64_t row = query * h.mask_row;
  for (int64_t key = 0; key < seen; ++key) {
    const int64_t at = row + key * h.mask_column;
    const bool hides = h.mask != nullptr ? h.mask[at] == kNever : h.allowed != nullptr && !h.allowed[at];
    if (!hides) return false;
  }
  return true;
}

void add_mask(const Head& h, int64_t query, int64_t seen, float* scores) {
  const int64_t row = query * h.mask_row;
  if (h.mask != nullptr) {
    for (int64_t key = 0; key < seen; ++key) scores[key] += h.mask[row + key * h.mask_column];
  } else if (h.allowed != nullptr) {
    for (int64_t key = 0; key < seen; ++key) scores[key] += h.allowed[row + key * h.mask_column] ? 0.0F : kNever;
  }
}

/// Replaces the scores of a query by exponentials. Returns the factor for its sums.
float weights_of(const Head& h, int64_t query) {
  float* scores = h.scores + query * h.score_step();
  const int64_t seen = std::clamp<int64_t>(h.seen + query, 0, h.keys);
  add_mask(h, query, seen, scores);
  const float sum = exponentials(scores, scores, seen);
  if (h.blind_gives_zero && !(sum > 0) && is_blind(h, query, seen)) {
    std::fill_n(scores, h.keys, 0.0F);
    return 0;
  }
  std::fill(scores + seen, scores + h.keys, 0.0F);
  return 1 / sum;
}

void attend(const Head& h) {
  const int64_t step = h.score_step();
  for (int64_t first = 0; first < h.keys; first += kKeys) {
    const int64_t count = std::min(kKeys, h.keys - first);
    pack(h, first, count);
    multiply({.a = h.q,
              .b = h.packed,
              .a_row = h.q_step,
              .b_row = kKeys,
              .depth = h.size,
              .c = h.scores + first,
              .c_row = step,
              .columns = round_up(count, kLanes),
              .factor = h.scale},
             h.queries);
  }
  float* factors = h.packed;  // the packed keys are no longer needed
  for (int64_t query = 0; query < h.queries; ++query) factors[query] = weights_of(h, query);
  multiply({.a = h.scores,
            .b = h.v,
            .a_row = step,
            .b_row = h.v_step,
            .depth = h.keys,
            .c = h.out,
            .c_row = h.out_step,
            .columns = h.v_size,
            .factors = factors},
           h.queries);
}

}  // namespace halfstep::kernels::attention::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace attention {
namespace {

/// Scores of a block. They stay in a second-level cache.
constexpr int64_t kMostScores = 1 << 16;
/// Queries of a block: enough that packing the keys costs little compared with the products, and few enough that there
/// are blocks for many threads.
constexpr int64_t kLeastQueries = 14, kMostQueries = 112;
constexpr int64_t kWantedPieces = 16;

struct State {
  AttentionState layout;
  int64_t queries = 0, blocks = 0;  ///< queries of a block, blocks of a head
  decltype(&N_AVX2::attend) attend = nullptr;

  template <class Attributes>
  State(const Problem& problem, const Attributes& a) : layout(problem, a) {
    const int64_t length = layout.q.length, heads = layout.batch * layout.q.heads;
    const int64_t wanted = ceil_div(length * heads, kWantedPieces);
    const int64_t most = std::min(kMostQueries, kMostScores / round_up(layout.k.length, kRound));
    queries = std::clamp(wanted, kLeastQueries, std::max(kLeastQueries, most));
    blocks = ceil_div(length, queries);
    queries = ceil_div(length, blocks);
    attend = HS_SIMD_CHOOSE(problem.level, attend);
  }
  int64_t scores() const { return queries * round_up(layout.k.length, kRound); }
};

template <class Attributes>
Verdict accept(const Problem& problem) {
  using In = FusedAttention::in;
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Type &q = *problem.in[In::q], &k = *problem.in[In::k], &v = *problem.in[In::v];
  if (q.dtype != DType::f32 || v.dtype != DType::f32)
    return refuse(
        errors::kernel_takes_other_types("q and v", fmt::format("{} and {}", name(q.dtype), name(v.dtype)), "f32"));
  if (const Type* mask = problem.in[In::mask];
      mask != nullptr && mask->dtype != DType::f32 && mask->dtype != DType::boolean)
    return refuse(errors::kernel_takes_other_types("mask", name(mask->dtype), "f32 or bool"));
  if (count_elements(problem.out[0]->dims) == 0 || count_elements(q.dims) == 0 || count_elements(k.dims) == 0)
    return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  return accept_mask(problem, AttentionState(problem, Attributes(problem.attributes)), false);
}

Verdict accept_attention(const Problem& problem) {
  const Attention a(problem.attributes);
  if (a.softcap > 0 || a.left_window >= 0 || a.right_window >= 0)
    return refuse(errors::kernel_is_for_other_options("a softcap or a window", "none"));
  if (problem.in[Attention::in::kv_lengths] != nullptr)
    return refuse(errors::kernel_is_for_other_options("kv_lengths", "none"));
  if (problem.out[Attention::out::scores] != nullptr)
    return refuse(errors::kernel_is_for_other_options("scores as a result", "none"));
  return accept<Attention>(problem);
}

template <class Attributes>
Plan prepare(const Problem& problem) {
  auto state = std::make_shared<State>(problem, Attributes(problem.attributes));
  const AttentionState& s = state->layout;
  const int64_t packed = std::max(s.q.size * kKeys, state->queries);
  const auto scratch = static_cast<size_t>(state->scores() + packed) * sizeof(float);
  const int64_t pieces = s.batch * s.q.heads * state->blocks;
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

Status run(const Call& call, int, int64_t piece) {
  using In = FusedAttention::in;
  const auto& state = state_of<State>(call);
  const AttentionState& s = state.layout;
  const int64_t query = piece % state.blocks * state.queries, head = piece / state.blocks % s.q.heads;
  const int64_t batch = piece / state.blocks / s.q.heads, shared = head / (s.q.heads / s.k.heads);
  HeadLayout out = s.q;
  out.size = s.v.size;
  const MaskRows mask = mask_rows(s, batch, head, query);
  auto* scratch = reinterpret_cast<float*>(call.worker_scratch);
  const ConstView& masks = call.in[In::mask];
  const bool adds = masks.present() && masks.dtype == DType::f32;
  state.attend({.q = call.in[In::q].as<const float>() + s.q.begin(batch, head, query),
                .k = call.in[In::k].as<const float>() + s.k.begin(batch, shared, 0),
                .v = call.in[In::v].as<const float>() + s.v.begin(batch, shared, 0),
                .mask = adds ? masks.as<const float>() + mask.begin : nullptr,
                .allowed = masks.present() && !adds ? masks.as<const bool>() + mask.begin : nullptr,
                .out = call.out[0].as<float>() + out.begin(batch, head, query),
                .q_step = s.q.step(),
                .k_step = s.k.step(),
                .v_step = s.v.step(),
                .out_step = out.step(),
                .mask_row = mask.row,
                .mask_column = mask.column,
                .queries = std::min(state.queries, s.q.length - query),
                .keys = s.k.length,
                .size = s.q.size,
                .v_size = s.v.size,
                .seen = s.is_causal ? query + s.past + 1 : s.k.length,
                .scale = static_cast<float>(s.scale),
                .blind_gives_zero = s.blind_gives_zero,
                .scores = scratch,
                .packed = scratch + state.scores()});
  return {};
}

}  // namespace
}  // namespace attention

extern const Kernel cpu_attention_tiles{"tiles", attention::accept_attention, attention::prepare<Attention>,
                                        attention::run};
extern const Kernel cpu_fused_attention_tiles{"tiles", attention::accept<FusedAttention>,
                                              attention::prepare<FusedAttention>, attention::run};

}  // namespace halfstep::kernels
#endif
