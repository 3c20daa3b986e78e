// Parts that attention and its gradient share: the layout of heads, and the visible keys of a query.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/softmax.h"

namespace halfstep::kernels {

/// Rows of heads. Row (batch, head, position) starts at `begin`, and its elements are contiguous.
struct HeadLayout {
  int64_t heads = 0, length = 0, size = 0;
  bool heads_first = true;

  HeadLayout(const Dims& x, int64_t head_count)
      : heads(x.size() == 4 ? x[1] : head_count),
        length(x.size() == 4 ? x[2] : x[1]),
        size(x.size() == 4 ? x[3] : x[2] / std::max<int64_t>(1, head_count)),
        heads_first(x.size() == 4) {}
  /// Elements from one position of a head to the next.
  int64_t step() const { return heads_first ? size : heads * size; }
  int64_t begin(int64_t batch, int64_t head, int64_t position) const {
    return (heads_first ? (batch * heads + head) * length + position : (batch * length + position) * heads + head) *
           size;
  }
};

struct AttentionState {
  int64_t batch;
  HeadLayout q, k, v;
  Dims mask, padded;  ///< extents of the mask, and those of the scores with the mask's columns in place of kv_length
  double scale = 1, softcap = 0;
  bool is_causal = false, blind_gives_zero = true;
  int64_t past = 0, left_window = -1, right_window = -1, scores_mode = 0;

  /// `a` has the attributes of attention or of its gradient. Their first operands are the same.
  template <class Attributes>
  AttentionState(const Problem& problem, const Attributes& a) : AttentionState(problem, a.heads, a.kv_heads) {
    scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(q.size));
    softcap = a.softcap;
    is_causal = a.is_causal;
    past = a.past;
    left_window = a.left_window;
    right_window = a.right_window;
    scores_mode = a.scores_mode;
    if (!mask.empty()) padded.back() = mask.back();
  }

  AttentionState(const Problem& problem, const FusedAttention& a) : AttentionState(problem, a.heads, a.kv_heads) {
    static_assert(Attention::in::q == FusedAttention::in::q && Attention::in::k == FusedAttention::in::k &&
                  Attention::in::v == FusedAttention::in::v && Attention::in::mask == FusedAttention::in::mask);
    scale = a.scale;
    blind_gives_zero = false;
  }

 private:
  AttentionState(const Problem& problem, int64_t heads, int64_t kv_heads)
      : batch(problem.in[Attention::in::q]->dims[0]),
        q(problem.in[Attention::in::q]->dims, heads),
        k(problem.in[Attention::in::k]->dims, kv_heads),
        v(problem.in[Attention::in::v]->dims, kv_heads) {
    if (const Type* type = problem.in[Attention::in::mask]) mask = type->dims;
    padded = {batch, q.heads, q.length, k.length};
  }
};

/// Checks that the mask broadcasts to the scores. With `may_be_short`, the mask may have fewer columns.
inline Verdict accept_mask(const Problem& problem, const AttentionState& s, bool may_be_short) {
  if (problem.in[Attention::in::mask] == nullptr) return accept();
  const Dims& mask = s.mask;
  const Dims scores = {s.batch, s.q.heads, s.q.length, s.k.length};
  bool fits = !mask.empty() && mask.size() <= 4;
  for (size_t i = 0; fits && i < mask.size(); ++i) {
    const int64_t wanted = scores[4 - mask.size() + i];
    fits = mask[i] == 1 || mask[i] == wanted || (may_be_short && i + 1 == mask.size() && mask[i] < wanted);
  }
  if (!fits)
    return refuse(errors::operand_extents_do_not_fit("mask", to_string(mask),
                                                     fmt::format("extents that broadcast to {}", to_string(scores))));
  return accept();
}

/// Offset of the mask of a query, and its steps to the next query and the next key. A step is 0 where the mask is
/// repeated.
struct MaskRows {
  int64_t begin = 0, row = 0, column = 0;
};
inline MaskRows mask_rows(const AttentionState& s, int64_t batch, int64_t head, int64_t query) {
  std::array<int64_t, 4> steps{};
  int64_t step = 1;
  for (size_t i = s.mask.size(); i-- > 0; step *= s.mask[i]) steps[4 - s.mask.size() + i] = s.mask[i] == 1 ? 0 : step;
  return {batch * steps[0] + head * steps[1] + query * steps[2], steps[2], steps[3]};
}

/// Term that a query adds to its score of each key: 0, the mask's number, or -infinity.
inline void write_bias(const AttentionState& s, const Call& call, int64_t batch, int64_t head, int64_t query,
                       double* bias) {
  using In = Attention::in;
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const ConstView lengths = In::kv_lengths < static_cast<int>(call.in.size()) ? call.in[In::kv_lengths] : ConstView();
  const int64_t seen = lengths.present() ? lengths.as<const int64_t>()[batch] : s.k.length;
  const int64_t place = query + (lengths.present() ? seen - s.q.length : s.past);
  for (int64_t key = 0; key < s.k.length; ++key) {
    const bool late = s.is_causal && key > place;
    const bool outside =
        (s.left_window >= 0 && key < place - s.left_window) || (s.right_window >= 0 && key > place + s.right_window);
    bias[key] = late || outside || key >= seen ? kNever : 0;
  }
  const ConstView& mask = call.in[In::mask];
  if (!mask.present()) return;
  const int64_t columns = s.padded[3];
  const int64_t row = ((batch * s.padded[1] + head) * s.padded[2] + query) * columns;
  std::fill(bias + columns, bias + s.k.length, kNever);
  if (mask.dtype == DType::boolean) {
    for (int64_t key = 0; key < columns; ++key) {
      if (!mask.as<const bool>()[broadcast_index(s.mask, s.padded, row + key)]) bias[key] = kNever;
    }
    return;
  }
  with_any_float(mask.dtype, [&]<class M>() {
    for (int64_t key = 0; key < columns; ++key)
      bias[key] += to_double(mask.as<const M>()[broadcast_index(s.mask, s.padded, row + key)]);
  });
}

/// Softmax in place. A query without visible keys has zeros.
template <class T>
void softmax_of_seen(double* scores, const double* bias, int64_t count) {
  const bool blind = std::all_of(bias, bias + count, [](double b) { return std::isinf(b) && b < 0; });
  if (blind) {
    std::fill_n(scores, count, 0.0);
  } else {
    softmax<T>(scores, count);
  }
}

}  // namespace halfstep::kernels
