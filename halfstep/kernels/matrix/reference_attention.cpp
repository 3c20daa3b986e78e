// Attention and rotary position embedding. Attention is a function of other operators: in half precision each of its
// steps is rounded.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/kernels/common/broadcast.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/reduce/softmax.h"

namespace halfstep::kernels {
namespace {

/// Rows of heads: row (batch, head, position) starts at `begin` and its elements are neighbours.
struct HeadLayout {
  int64_t heads = 0, length = 0, size = 0;
  bool heads_first = true;

  HeadLayout(const Dims& x, int64_t head_count)
      : heads(x.size() == 4 ? x[1] : head_count),
        length(x.size() == 4 ? x[2] : x[1]),
        size(x.size() == 4 ? x[3] : x[2] / std::max<int64_t>(1, head_count)),
        heads_first(x.size() == 4) {}
  int64_t begin(int64_t batch, int64_t head, int64_t position) const {
    return (heads_first ? (batch * heads + head) * length + position : (batch * length + position) * heads + head) *
           size;
  }
};

struct AttentionState {
  HeadLayout q, k, v;
  Dims mask, padded;  ///< extents of the mask, and of the scores with those of the mask in place of kv_length
  double scale;
  Attention attributes;
};

Plan prepare_attention(const Problem& problem) {
  using In = Attention::in;
  const Attention a(problem.attributes);
  const HeadLayout q(problem.in[In::q]->dims, a.heads), k(problem.in[In::k]->dims, a.kv_heads),
      v(problem.in[In::v]->dims, a.kv_heads);
  const int64_t batch = problem.in[In::q]->dims[0];
  const Dims mask = problem.in[In::mask] == nullptr ? Dims() : problem.in[In::mask]->dims;
  const Dims padded = {batch, q.heads, q.length, mask.empty() ? k.length : mask.back()};
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(q.size));
  return {.state = std::make_shared<AttentionState>(q, k, v, mask, padded, scale, a),
          .worker_scratch = static_cast<size_t>(2 * k.length + v.size) * sizeof(double),
          .phases = {batch * q.heads * q.length}};
}

Verdict accept_attention(const Problem& problem) {
  using In = Attention::in;
  if (problem.in[In::mask] == nullptr) return accept();
  const Attention a(problem.attributes);
  const Dims& mask = problem.in[In::mask]->dims;
  const HeadLayout q(problem.in[In::q]->dims, a.heads), k(problem.in[In::k]->dims, a.kv_heads);
  const Dims scores = {problem.in[In::q]->dims[0], q.heads, q.length, k.length};
  bool fits = mask.size() >= 1 && mask.size() <= 4;
  for (size_t i = 0; fits && i < mask.size(); ++i) {
    const int64_t wanted = scores[4 - mask.size() + i];
    fits = mask[i] == 1 || mask[i] == wanted || (i + 1 == mask.size() && mask[i] < wanted);
  }
  if (!fits) return refuse("a mask {} does not broadcast to {}", to_string(mask), to_string(scores));
  return accept();
}

/// What a query adds to its score of each key: 0, the mask's number, or -infinity.
void write_bias(const AttentionState& s, const Call& call, int64_t batch, int64_t head, int64_t query, double* bias) {
  using In = Attention::in;
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const Attention& a = s.attributes;
  const ConstView& lengths = call.in[In::kv_lengths];
  const int64_t seen = lengths.present() ? lengths.as<const int64_t>()[batch] : s.k.length;
  const int64_t place = query + (lengths.present() ? seen - s.q.length : a.past);
  for (int64_t key = 0; key < s.k.length; ++key) {
    const bool late = a.is_causal && key > place;
    const bool outside =
        (a.left_window >= 0 && key < place - a.left_window) || (a.right_window >= 0 && key > place + a.right_window);
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

template <class T>
void write_scores(const View& out, int64_t row, const double* values, int64_t count) {
  T* dst = out.as<T>() + row * count;
  for (int64_t i = 0; i < count; ++i) dst[i] = from_double<T>(values[i]);
}

/// In place; a query that sees nothing gets zeros.
template <class T>
void softmax_of_seen(double* scores, const double* bias, int64_t count) {
  const bool blind = std::all_of(bias, bias + count, [](double b) { return std::isinf(b) && b < 0; });
  if (blind) {
    std::fill_n(scores, count, 0.0);
  } else {
    softmax<T>(scores, count);
  }
}

template <class T, class V>
void attend(const AttentionState& s, const Call& call, int64_t piece) {
  using In = Attention::in;
  using Out = Attention::out;
  const Attention& a = s.attributes;
  const int64_t query = piece % s.q.length, head = piece / s.q.length % s.q.heads,
                batch = piece / s.q.length / s.q.heads;
  const int64_t shared = head / (s.q.heads / s.k.heads), keys = s.k.length;
  auto* scores = reinterpret_cast<double*>(call.worker_scratch);
  double* bias = scores + keys;
  double* sums = bias + keys;
  const T* q = call.in[In::q].as<const T>() + s.q.begin(batch, head, query);
  const double root = rounded_if_half<T>(std::sqrt(s.scale));
  for (int64_t key = 0; key < keys; ++key) {
    const T* k = call.in[In::k].as<const T>() + s.k.begin(batch, shared, key);
    double sum = 0;
    for (int64_t i = 0; i < s.q.size; ++i)
      sum += rounded_if_half<T>(to_double(q[i]) * root) * rounded_if_half<T>(to_double(k[i]) * root);
    scores[key] = rounded_if_half<T>(sum);
  }
  const View& wanted = call.out[Out::scores];
  const auto show = [&](int64_t mode) {
    if (wanted.present() && a.scores_mode == mode) write_scores<T>(wanted, piece, scores, keys);
  };
  show(0);
  if (a.softcap > 0) {
    for (int64_t key = 0; key < keys; ++key)
      scores[key] =
          rounded_if_half<T>(a.softcap * rounded_if_half<T>(std::tanh(rounded_if_half<T>(scores[key] / a.softcap))));
  }
  show(1);
  write_bias(s, call, batch, head, query, bias);
  for (int64_t key = 0; key < keys; ++key) scores[key] = rounded_if_half<T>(scores[key] + bias[key]);
  show(2);
  softmax_of_seen<T>(scores, bias, keys);
  show(3);
  std::fill_n(sums, s.v.size, 0.0);
  for (int64_t key = 0; key < keys; ++key) {
    const V* v = call.in[In::v].as<const V>() + s.v.begin(batch, shared, key);
    for (int64_t i = 0; i < s.v.size; ++i) sums[i] += scores[key] * to_double(v[i]);
  }
  HeadLayout out = s.q;
  out.size = s.v.size;
  T* dst = call.out[Out::out_].as<T>() + out.begin(batch, head, query);
  for (int64_t i = 0; i < s.v.size; ++i) dst[i] = from_double<T>(sums[i]);
}

Status run_attention(const Call& call, int, int64_t piece) {
  const auto& state = state_of<AttentionState>(call);
  with_any_float(call.in[Attention::in::q].dtype, [&]<class T>() {
    with_any_float(call.in[Attention::in::v].dtype, [&]<class V>() { attend<T, V>(state, call, piece); });
  });
  return {};
}

// rotary_embedding

struct RotaryState {
  HeadLayout x;
  int64_t batch, rotated;
  bool interleaved;
};

Plan prepare_rotary(const Problem& problem) {
  using In = RotaryEmbedding::in;
  const RotaryEmbedding a(problem.attributes);
  const Dims& x = problem.in[In::x]->dims;
  return {.state = std::make_shared<RotaryState>(HeadLayout(x, a.heads), x[0], 2 * problem.in[In::cos]->dims.back(),
                                                 a.interleaved),
          .phases = {x[0]}};
}

Verdict accept_rotary(const Problem& problem) {
  using In = RotaryEmbedding::in;
  const HeadLayout x(problem.in[In::x]->dims, RotaryEmbedding(problem.attributes).heads);
  const Dims& cos = problem.in[In::cos]->dims;
  if (2 * cos.back() > x.size)
    return refuse("caches for {} elements are wider than a head of {}", 2 * cos.back(), x.size);
  const bool by_place = problem.in[In::ids] == nullptr;
  if (by_place && (cos[0] != problem.in[In::x]->dims[0] || cos[1] != x.length))
    return refuse("caches {} have no row for each of {} positions", to_string(cos), x.length);
  return accept();
}

Status run_rotary(const Call& call, int, int64_t batch) {
  using In = RotaryEmbedding::in;
  const auto& s = state_of<RotaryState>(call);
  const int64_t half = s.rotated / 2;
  const int64_t* ids = call.in[In::ids].as<const int64_t>();
  const int64_t rows = ids == nullptr ? s.batch * s.x.length : call.in[In::cos].dims[0];
  for (int64_t place = 0; ids != nullptr && place < s.x.length; ++place) {
    const int64_t id = ids[batch * s.x.length + place];
    if (id < 0 || id >= rows)
      return Status(fmt::format("position {} of batch {} is {}, not in 0..{}", place, batch, id, rows - 1));
  }
  with_any_float(call.out[0].dtype, [&]<class T>() {
    for (int64_t place = 0; place < s.x.length; ++place) {
      const int64_t at = batch * s.x.length + place, row = ids == nullptr ? at : ids[at];
      const T* cos = call.in[In::cos].as<const T>() + row * half;
      const T* sin = call.in[In::sin].as<const T>() + row * half;
      for (int64_t head = 0; head < s.x.heads; ++head) {
        const T* src = call.in[In::x].as<const T>() + s.x.begin(batch, head, place);
        T* dst = call.out[0].as<T>() + s.x.begin(batch, head, place);
        for (int64_t i = 0; i < half; ++i) {
          const int64_t first = s.interleaved ? 2 * i : i, second = s.interleaved ? 2 * i + 1 : half + i;
          const double a = to_double(src[first]), b = to_double(src[second]);
          const double c = to_double(cos[i]), d = to_double(sin[i]);
          dst[first] = from_double<T>(c * a - d * b);
          dst[second] = from_double<T>(d * a + c * b);
        }
        std::copy(src + s.rotated, src + s.x.size, dst + s.rotated);
      }
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_attention{"reference", accept_attention, prepare_attention, run_attention};
extern const Kernel reference_rotary_embedding{"reference", accept_rotary, prepare_rotary, run_rotary};

}  // namespace halfstep::kernels
