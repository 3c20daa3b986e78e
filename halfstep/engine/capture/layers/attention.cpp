#include "halfstep/engine/capture/layers/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/layers/functions.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {
namespace layers {
namespace {

/// The heads of the query, key or value of this number: x with its own weight and bias. `perm` is for [n, length,
/// heads, size].
Array projected(const Array& x, const AttentionParameters& parameters, int64_t number, const Attention& how,
                Dims perm) {
  const int64_t first = number * how.embed, last = first + how.embed;
  const Array weight = parameters.in_weights.size() == 1 ? rows(parameters.in_weights[0], first, last)
                                                         : parameters.in_weights[static_cast<size_t>(number)];
  const Array y = linear(x, weight, parameters.in_bias ? rows(parameters.in_bias, first, last) : Array());
  if (!how.batch_first) {
    for (int64_t& axis : perm) axis = axis > 1 ? axis : 1 - axis;
  }
  return transposed(reshaped(y, {0, 0, how.heads, how.embed / how.heads}), perm);
}

/// Adds a mask to the scores. A key that a bool hides gets -infinity.
Array masked(const Array& scores, const Array& mask) {
  if (!mask) return scores;
  const auto number = [&](double value) { return full({scores.dtype(), {}}, value, scores.place()); };
  const bool hides = mask.dtype() == DType::boolean;
  const Array added =
      hides ? apply("select", {mask, number(-std::numeric_limits<double>::infinity()), number(0)}) : mask;
  return apply("add", {scores, added});
}

/// A mask of pairs with axes that broadcast to [n, heads, queries, keys].
Array by_head(const Array& pairs, int64_t heads) {
  if (!pairs || pairs.dims().size() != 3) return pairs;
  note_extents(pairs);
  return reshaped(pairs, {-1, heads, pairs.dims()[1], pairs.dims()[2]});
}

}  // namespace

Arrays multi_head_attention(const Arrays& query_key_value, const AttentionParameters& parameters,
                            const AttentionMasks& masks, const Attention& how) {
  const Array q = projected(query_key_value[0], parameters, 0, how, {0, 2, 1, 3});
  const Array k = projected(query_key_value[1], parameters, 1, how, {0, 2, 3, 1});
  const Array v = projected(query_key_value[2], parameters, 2, how, {0, 2, 1, 3});
  const int64_t width = how.embed / how.heads;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Array scores = apply("mul", {apply("matmul", {q, k}), full({q.dtype(), {}}, scale, q.place())});
  const Array keys = masks.keys ? apply("unsqueeze", {masks.keys}, {{"axes", Axes{1, 2}}}) : Array();
  Array weights =
      apply("softmax", {masked(masked(scores, by_head(masks.pairs, how.heads)), keys)}, {{"axis", int64_t{-1}}});
  if (how.dropout > 0) weights = dropout(weights, how.dropout);
  const Array sums = transposed(apply("matmul", {weights, v}), how.batch_first ? Dims{0, 2, 1, 3} : Dims{2, 0, 1, 3});
  Arrays results = {linear(reshaped(sums, {0, 0, how.embed}), parameters.out_weight, parameters.out_bias)};
  if (!how.need_weights) return results;
  if (how.average_weights) weights = apply("reduce_mean", {weights}, {{"axes", Axes{1}}, {"keep_dims", false}});
  results.push_back(weights);
  return results;
}

}  // namespace layers

namespace {

/// Initial weights after Glorot and Bengio (2010).
Array glorot(int64_t out, int64_t in) {
  const double bound = std::sqrt(6 / static_cast<double>(in + out));
  return uniform({out, in}, -bound, bound);
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed, int64_t heads, const AttentionOptions& options)
    : how_{embed, heads, options.dropout, options.batch_first}, dropout_(options.dropout) {
  if (heads < 1 || embed % heads != 0)
    fail(errors::layer_setting_invalid("MultiheadAttention: num_heads", std::to_string(heads),
                                       fmt::format("a divisor of embed_dim {}", embed)));
  const int64_t key = options.key_size == 0 ? embed : options.key_size;
  const int64_t value = options.value_size == 0 ? embed : options.value_size;
  if (key == embed && value == embed) {
    parameters_.in_weights = {parameter("in_proj_weight", glorot(3 * embed, embed))};
  } else {
    for (const auto& [name, size] :
         {std::pair("q_proj_weight", embed), {"k_proj_weight", key}, {"v_proj_weight", value}})
      parameters_.in_weights.push_back(parameter(name, glorot(embed, size)));
  }
  if (options.bias) parameters_.in_bias = parameter("in_proj_bias", full({DType::f32, {3 * embed}}, 0));
  parameters_.out_weight = parameter("out_proj.weight", within({embed, embed}, embed));
  if (options.bias) parameters_.out_bias = parameter("out_proj.bias", full({DType::f32, {embed}}, 0));
}

Array MultiheadAttention::operator()(const Array& x) { return (*this)({x, x, x}, {}, false)[0]; }

Arrays MultiheadAttention::operator()(const Arrays& query_key_value, const layers::AttentionMasks& masks,
                                      bool need_weights, bool average_weights) {
  layers::Attention how = how_;
  how.need_weights = need_weights;
  how.average_weights = average_weights;
  if (!switches().training) how.dropout = 0;
  return layers::multi_head_attention(query_key_value, parameters_, masks, how);
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t embed, int64_t heads, const TransformerOptions& options)
    : activation_(options.activation),
      norm_first_(options.norm_first),
      attention_(std::make_shared<MultiheadAttention>(
          embed, heads,
          AttentionOptions{.dropout = options.dropout, .bias = options.bias, .batch_first = options.batch_first})),
      linear1_(std::make_shared<Linear>(embed, options.feedforward, options.bias)),
      linear2_(std::make_shared<Linear>(options.feedforward, embed, options.bias)),
      norm1_(std::make_shared<LayerNorm>(Dims{embed}, options.epsilon, options.bias)),
      norm2_(std::make_shared<LayerNorm>(Dims{embed}, options.epsilon, options.bias)),
      dropout_(options.dropout) {
  if (activation_ != "relu" && activation_ != "gelu")
    fail(errors::layer_setting_invalid("TransformerEncoderLayer: activation", fmt::format("'{}'", activation_),
                                       "relu or gelu"));
  add_part("self_attn", attention_);
  add_part("linear1", linear1_);
  add_part("linear2", linear2_);
  add_part("norm1", norm1_);
  add_part("norm2", norm2_);
}

Array TransformerEncoderLayer::attended(const Array& x, const layers::AttentionMasks& masks) {
  return dropout_((*attention_)({x, x, x}, masks, false)[0]);
}

Array TransformerEncoderLayer::fed_forward(const Array& x) {
  return dropout_((*linear2_)(dropout_(apply(activation_, {(*linear1_)(x)}))));
}

Array TransformerEncoderLayer::operator()(const Array& x) { return (*this)(x, {}); }

Array TransformerEncoderLayer::operator()(const Array& x, const layers::AttentionMasks& masks) {
  const auto sum = [](const Array& a, const Array& b) { return apply("add", {a, b}); };
  if (norm_first_) {
    const Array y = sum(x, attended((*norm1_)(x), masks));
    return sum(y, fed_forward((*norm2_)(y)));
  }
  const Array y = (*norm1_)(sum(x, attended(x, masks)));
  return (*norm2_)(sum(y, fed_forward(y)));
}

}  // namespace halfstep::capture
