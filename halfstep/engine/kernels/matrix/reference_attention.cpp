// Attention and rotary position embedding. ONNX defines attention as a function of other operators, so that in half
// precision each step is rounded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/matrix/attention.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct ForwardState : AttentionState {
  int64_t scores_mode = 0;
};

Plan plan_of(ForwardState&& forward) {
  auto state = std::make_shared<ForwardState>(std::move(forward));
  const auto scratch = static_cast<size_t>(2 * state->k.length + state->v.size) * sizeof(double);
  const int64_t pieces = state->batch * state->q.heads * state->q.length;
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}
Plan prepare_attention(const Problem& problem) {
  const Attention a(problem.attributes);
  return plan_of({AttentionState(problem, a), a.scores_mode});
}
Plan prepare_fused(const Problem& problem) {
  return plan_of({AttentionState(problem, FusedAttention(problem.attributes))});
}

Verdict accept_attention(const Problem& problem) {
  return accept_mask(problem, AttentionState(problem, Attention(problem.attributes)), true);
}
Verdict accept_fused(const Problem& problem) {
  return accept_mask(problem, AttentionState(problem, FusedAttention(problem.attributes)), false);
}

template <class T>
void write_scores(const View& out, int64_t row, const double* values, int64_t count) {
  T* dst = out.as<T>() + row * count;
  for (int64_t i = 0; i < count; ++i) dst[i] = from_double<T>(values[i]);
}

template <class T, class V>
void attend(const ForwardState& s, const Call& call, int64_t piece) {
  using In = Attention::in;
  using Out = Attention::out;
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
  const View wanted = Out::scores < static_cast<int>(call.out.size()) ? call.out[Out::scores] : View();
  const auto show = [&](int64_t mode) {
    if (wanted.present() && s.scores_mode == mode) write_scores<T>(wanted, piece, scores, keys);
  };
  show(0);
  if (s.softcap > 0) {
    for (int64_t key = 0; key < keys; ++key)
      scores[key] =
          rounded_if_half<T>(s.softcap * rounded_if_half<T>(std::tanh(rounded_if_half<T>(scores[key] / s.softcap))));
  }
  show(1);
  write_bias(s, call, batch, head, query, bias);
  for (int64_t key = 0; key < keys; ++key) scores[key] = rounded_if_half<T>(scores[key] + bias[key]);
  show(2);
  s.blind_gives_zero ? softmax_of_seen<T>(scores, bias, keys) : softmax<T>(scores, keys);
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
  const auto& state = state_of<ForwardState>(call);
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
    return refuse(errors::operand_extents_do_not_fit("cos", to_string(cos),
                                                     fmt::format("at most {} columns, half of a head", x.size / 2)));
  const bool by_place = problem.in[In::ids] == nullptr;
  if (by_place && (cos[0] != problem.in[In::x]->dims[0] || cos[1] != x.length))
    return refuse(errors::operand_extents_do_not_fit("cos", to_string(cos),
                                                     fmt::format("a row for each of {} positions", x.length)));
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
      return Status(errors::operand_index_out_of_range(fmt::format("position {} of batch {}", place, batch), id,
                                                       fmt::format("0 to {}", rows - 1)));
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
extern const Kernel reference_fused_attention{"reference", accept_fused, prepare_fused, run_attention};
extern const Kernel reference_rotary_embedding{"reference", accept_rotary, prepare_rotary, run_rotary};

}  // namespace halfstep::kernels
