#include "halfstep/passes/canonical/open_attention.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

/// Builds the parts of one attention.
class AttentionParts {
 public:
  AttentionParts(Model& model, const ops::Attention& attention)
      : model_(model), attention_(attention), builder_(Builder::before(model.graph, attention)) {
    builder_.at(attention.location());
  }

  void run() {
    const Value q = by_head(attention_.q(), attention_.heads(), "q");
    const Value k = for_all_heads(by_head(attention_.k(), attention_.kv_heads(), "k"), q, "k");
    const Value v = for_all_heads(by_head(attention_.v(), attention_.kv_heads(), "v"), q, "v");
    const Value scores = masked(capped(scaled(product(q, k), q.dims()[3])));
    Value weights = ops::softmax(builder_, {.x = scores, .axis = -1, .name = name("softmax")}).out();
    if (attention_.mask() || has_window(attention_)) weights = guarded(weights);
    const Value sum = ops::matmul(builder_, {.a = weights, .b = v, .name = name("sum")}).out();
    replace(attention_.q().dims().size() == 3 ? together(sum) : sum.producer());
  }

  static bool can_open(const ops::Attention& a) {
    if (a.kv_lengths() || a.with_scores() || a.q().dtype() != DType::f32 || a.v().dtype() != DType::f32) return false;
    if (a.mask() && a.mask().dtype() != DType::f32 && a.mask().dtype() != DType::boolean) return false;
    const size_t axis = a.q().dims().size() - 2;
    const int64_t queries = a.q().dims()[axis], keys = a.k().dims()[axis];
    if (has_window(a) && (queries == kUnknown || keys == kUnknown)) return false;
    if (head_size(a) == kUnknown || a.v().dims().back() == kUnknown) return false;
    return !a.mask() || (!a.mask().dims().empty() && a.mask().dims().back() == keys);
  }

 private:
  static bool has_window(const ops::Attention& a) {
    return a.is_causal() || a.left_window() >= 0 || a.right_window() >= 0;
  }

  static int64_t head_size(const ops::Attention& a) {
    const int64_t last = a.q().dims().back();
    return a.q().dims().size() == 4 || last == kUnknown ? last : last / a.heads();
  }

  std::string name(const std::string& part) const { return attention_.name() + "." + part; }

  Value number(const std::string& part, double value) {
    return add_tensor(model_, name(part), Tensor::scalar(static_cast<float>(value)), Role::constant);
  }

  /// Reshapes [batch, length, heads * size] to [batch, heads, length, size].
  Value by_head(Value x, int64_t heads, const std::string& part) {
    if (x.dims().size() == 4) return x;
    const Value split =
        ops::reshape(builder_, {.x = x, .dims = {0, 0, heads, x.dims()[2] / heads}, .name = name(part + ".heads")})
            .out();
    return ops::transpose(builder_, {.x = split, .perm = kSwapHeads, .name = name(part)}).out();
  }

  /// Repeats each head of keys and values for all heads of queries that share it.
  Value for_all_heads(Value x, Value q, const std::string& part) {
    const int64_t heads = q.dims()[1], own = x.dims()[1];
    if (heads == own) return x;
    Tensor indices(DType::i64, {heads});
    for (int64_t head = 0; head < heads; ++head)
      indices.data<int64_t>()[static_cast<size_t>(head)] = head * own / heads;
    const Value which = add_tensor(model_, name(part + ".indices"), std::move(indices), Role::constant);
    return ops::gather(builder_, {.x = x, .indices = which, .axis = 1, .name = name(part + ".shared")}).out();
  }

  Value product(Value q, Value k) {
    return ops::matmul(builder_, {.a = q, .b = k, .transpose_b = true, .name = name("scores")}).out();
  }

  Value scaled(Value scores, int64_t size) {
    const double scale = attention_.scale() != 0 ? attention_.scale() : 1 / std::sqrt(static_cast<double>(size));
    if (scale == 1) return scores;
    return ops::mul(builder_, {.a = scores, .b = number("scale", scale), .name = name("scaled")}).out();
  }

  Value capped(Value scores) {
    const double cap = attention_.softcap();
    if (cap <= 0) return scores;
    const Value inner =
        ops::mul(builder_, {.a = scores, .b = number("per_cap", 1 / cap), .name = name("in_caps")}).out();
    const Value bent = ops::tanh(builder_, {.x = inner, .name = name("bent")}).out();
    return ops::mul(builder_, {.a = bent, .b = number("cap", cap), .name = name("capped")}).out();
  }

  Value masked(Value scores) {
    Value mask = attention_.mask();
    if (mask && mask.dtype() == DType::f32) {
      scores = ops::add(builder_, {.a = scores, .b = mask, .name = name("biased")}).out();
      mask = {};
    }
    if (has_window(attention_)) {
      const Value window = window_of(scores.dims()[2], scores.dims()[3]);
      mask = mask ? ops::logical_and(builder_, {.a = mask, .b = window, .name = name("sees")}).out() : window;
    }
    if (!mask) return scores;
    const Value never = number("never", -std::numeric_limits<double>::infinity());
    return ops::mask_fill(builder_,
                          {.x = scores, .condition = mask, .value = never, .inverse = true, .name = name("masked")})
        .out();
  }

  /// Returns the keys that each query may see, as a mask of the window.
  Value window_of(int64_t queries, int64_t keys) {
    Tensor sees(DType::boolean, {queries, keys});
    const auto contents = sees.data<bool>();
    const int64_t left = attention_.left_window(), right = attention_.right_window(), past = attention_.past();
    for (int64_t i = 0; i < queries * keys; ++i) {
      const int64_t ahead = i % keys - (i / keys + past);
      contents[static_cast<size_t>(i)] =
          (!attention_.is_causal() || ahead <= 0) && (left < 0 || ahead >= -left) && (right < 0 || ahead <= right);
    }
    return add_tensor(model_, name("window"), std::move(sees), Role::constant);
  }

  /// Replaces the result of a query that sees no key by 0.
  Value guarded(Value weights) {
    const Value nothing = ops::is_nan(builder_, {.x = weights, .name = name("nothing")}).out();
    const Value zero = number("zero", 0);
    return ops::select(builder_, {.condition = nothing, .a = zero, .b = weights, .name = name("weights")}).out();
  }

  Op together(Value sum) {
    const Value rows = ops::transpose(builder_, {.x = sum, .perm = kSwapHeads, .name = name("rows")}).out();
    return ops::reshape(builder_, {.x = rows, .dims = {0, 0, sum.dims()[1] * sum.dims()[3]}, .name = name("joined")});
  }

  /// Gives the last part the name of the attention.
  void replace(Op last) {
    const std::string own = attention_.name();
    attention_.out().replace_all_uses_with(last.out(0));
    model_.graph.erase(attention_);
    model_.graph.rename(last, own);
  }

  Model& model_;
  ops::Attention attention_;
  Builder builder_;
};

}  // namespace

void open_attention(Model& model) {
  for (const ops::Attention& attention : model.graph.all<ops::Attention>()) {
    if (AttentionParts::can_open(attention)) AttentionParts(model, attention).run();
  }
}

}  // namespace halfstep::passes
