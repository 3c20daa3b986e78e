// The gradient of attention. Probabilities are recomputed, row by row in double, and every sum is rounded once. A piece
// is one head of k and v, with all heads of q that use it.
#include <memory>
#include <utility>

#include "halfstep/engine/kernels/matrix/attention.h"

namespace halfstep::kernels {
namespace {

Plan prepare_attention_grad(const Problem& problem) {
  auto state = std::make_shared<AttentionState>(problem, AttentionGrad(problem.attributes));
  const AttentionState& s = *state;
  const int64_t doubles = 3 * s.k.length + s.k.length * (s.k.size + s.v.size) + s.q.size;
  const int64_t pieces = s.batch * s.k.heads;
  return {
      .state = std::move(state), .worker_scratch = static_cast<size_t>(doubles) * sizeof(double), .phases = {pieces}};
}

/// Scratch of a piece.
struct GradientScratch {
  double *scores, *slopes;  ///< by key: probability, and derivative of the score over the product before the softcap
  double* bias;             ///< by key: bias from the mask, then the gradient of the probability
  double *k_sums, *v_sums;  ///< sums by key and element
  double* q_sums;

  GradientScratch(const AttentionState& s, std::byte* memory) {
    auto* next = reinterpret_cast<double*>(memory);
    const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
    scores = take(s.k.length);
    slopes = take(s.k.length);
    bias = take(s.k.length);
    k_sums = take(s.k.length * s.k.size);
    v_sums = take(s.k.length * s.v.size);
    q_sums = take(s.q.size);
  }
};

template <class T>
double dot(const T* a, const T* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += to_double(a[i]) * to_double(b[i]);
  return sum;
}

template <class T, class V>
class AttentionGradient {
  using In = AttentionGrad::in;
  using Out = AttentionGrad::out;

 public:
  AttentionGradient(const Call& call, int64_t piece)
      : s_(state_of<AttentionState>(call)),
        call_(call),
        batch_(piece / s_.k.heads),
        head_(piece % s_.k.heads),
        scratch_(s_, call.worker_scratch),
        out_(s_.q) {
    out_.size = s_.v.size;
    with_scores_ = call.in[In::scores_grad].present();
    with_out_ = call.in[In::out_grad].present();
  }

  void run() {
    std::fill_n(scratch_.k_sums, s_.k.length * (s_.k.size + s_.v.size), 0.0);
    const int64_t served = s_.q.heads / s_.k.heads;
    for (int64_t head = head_ * served; head < (head_ + 1) * served; ++head) {
      for (int64_t query = 0; query < s_.q.length; ++query) differentiate(head, query);
    }
    for (int64_t key = 0; key < s_.k.length; ++key) {
      store(scratch_.k_sums + key * s_.k.size, s_.k.size,
            call_.out[Out::k_grad].as<T>() + s_.k.begin(batch_, head_, key));
      store(scratch_.v_sums + key * s_.v.size, s_.v.size,
            call_.out[Out::v_grad].as<V>() + s_.v.begin(batch_, head_, key));
    }
  }

 private:
  const T* k(int64_t key) const { return call_.in[In::k].as<const T>() + s_.k.begin(batch_, head_, key); }
  const V* v(int64_t key) const { return call_.in[In::v].as<const V>() + s_.v.begin(batch_, head_, key); }

  template <class E>
  static void store(const double* sums, int64_t size, E* dst) {
    for (int64_t i = 0; i < size; ++i) dst[i] = from_double<E>(sums[i]);
  }

  /// Computes the probabilities of the keys, and the derivative of each score over the product before the softcap.
  void write_probabilities(const T* q, int64_t head, int64_t query) {
    for (int64_t key = 0; key < s_.k.length; ++key) {
      double& score = scratch_.scores[key];
      score = dot(q, k(key), s_.q.size) * s_.scale;
      const double capped = s_.softcap > 0 ? std::tanh(score / s_.softcap) : 0;
      if (s_.softcap > 0) score = s_.softcap * capped;
      scratch_.slopes[key] = 1 - capped * capped;
    }
    write_bias(s_, call_, batch_, head, query, scratch_.bias);
    for (int64_t key = 0; key < s_.k.length; ++key) {
      scratch_.scores[key] += scratch_.bias[key];
      if (s_.scores_mode == 2 && std::isinf(scratch_.bias[key])) scratch_.slopes[key] = 0;  // stays -infinity
    }
    softmax_of_seen<double>(scratch_.scores, scratch_.bias, s_.k.length);
  }

  void differentiate(int64_t head, int64_t query) {
    const T* q = call_.in[In::q].as<const T>() + s_.q.begin(batch_, head, query);
    const T* out_grad = with_out_ ? call_.in[In::out_grad].as<const T>() + out_.begin(batch_, head, query) : nullptr;
    const int64_t row = ((batch_ * s_.q.heads + head) * s_.q.length + query) * s_.k.length;
    // 0 unless the returned scores are those of this mode.
    const auto score_grad = [&](int64_t key, bool is_of_mode) {
      return with_scores_ && is_of_mode ? to_double(call_.in[In::scores_grad].as<const T>()[row + key]) : 0;
    };
    write_probabilities(q, head, query);
    double mean = 0;
    for (int64_t key = 0; key < s_.k.length; ++key) {
      double grad = score_grad(key, s_.scores_mode == 3);
      for (int64_t i = 0; with_out_ && i < s_.v.size; ++i) {
        grad += to_double(out_grad[i]) * to_double(v(key)[i]);
        scratch_.v_sums[key * s_.v.size + i] += scratch_.scores[key] * to_double(out_grad[i]);
      }
      scratch_.bias[key] = grad;
      mean += scratch_.scores[key] * grad;
    }
    std::fill_n(scratch_.q_sums, s_.q.size, 0.0);
    for (int64_t key = 0; key < s_.k.length; ++key) {
      const double capped_grad = scratch_.scores[key] * (scratch_.bias[key] - mean) +
                                 score_grad(key, s_.scores_mode == 1 || s_.scores_mode == 2);
      const double slope = (capped_grad * scratch_.slopes[key] + score_grad(key, s_.scores_mode == 0)) * s_.scale;
      for (int64_t i = 0; i < s_.q.size; ++i) {
        scratch_.q_sums[i] += slope * to_double(k(key)[i]);
        scratch_.k_sums[key * s_.k.size + i] += slope * to_double(q[i]);
      }
    }
    store(scratch_.q_sums, s_.q.size, call_.out[Out::q_grad].as<T>() + s_.q.begin(batch_, head, query));
  }

  const AttentionState& s_;
  const Call& call_;
  int64_t batch_, head_;
  GradientScratch scratch_;
  HeadLayout out_;
  bool with_out_, with_scores_;
};

Status run_attention_grad(const Call& call, int, int64_t piece) {
  using In = AttentionGrad::in;
  with_any_float(call.in[In::q].dtype, [&]<class T>() {
    with_any_float(call.in[In::v].dtype, [&]<class V>() { AttentionGradient<T, V>(call, piece).run(); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_attention_grad{"reference", accept_all, prepare_attention_grad, run_attention_grad};

}  // namespace halfstep::kernels
