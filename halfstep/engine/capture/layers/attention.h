// Attention layers. Names, defaults and initial values are those of torch.nn.
#pragma once

#include <memory>
#include <string>

#include "halfstep/engine/capture/modules.h"

namespace halfstep::capture {
namespace layers {

/// Masks of attention. bool: true hides a key. Floats are added to the scores.
struct AttentionMasks {
  Array keys = {};   ///< [n, keys]
  Array pairs = {};  ///< [queries, keys] or [n * heads, queries, keys]
};

struct Attention {
  int64_t embed = 0, heads = 0;
  double dropout = 0;
  bool batch_first = false;   ///< arrays are [n, length, ...], not [length, n, ...]
  bool need_weights = false;  ///< whether the weights of the keys are a result
  bool average_weights = true;
};

struct AttentionParameters {
  Arrays in_weights;  ///< for query, key and value: one array [3 * embed, embed], or three
  Array in_bias;      ///< [3 * embed]
  Array out_weight, out_bias;
};

/// Multi-head attention. Returns [queries, n, embed], and with need_weights the weights [n, queries, keys], or [n,
/// heads, queries, keys] without average. A query whose keys are all hidden returns NaN.
Arrays multi_head_attention(const Arrays& query_key_value, const AttentionParameters& parameters,
                            const AttentionMasks& masks, const Attention& how);

}  // namespace layers

struct AttentionOptions {
  double dropout = 0;
  bool bias = true;
  int64_t key_size = 0, value_size = 0;  ///< elements of a key and a value, if not those of a query
  bool batch_first = false;
};

/// Multi-head attention. in_proj_weight, or q_proj_weight, k_proj_weight and v_proj_weight for other sizes of keys or
/// values, are initialized after Glorot and Bengio (2010), out_proj.weight within 1 / sqrt(embed), and biases with 0.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t embed, int64_t heads, const AttentionOptions& options = {});
  /// Attention of x to itself.
  Array operator()(const Array& x) override;
  /// The result and the weights of the keys.
  Arrays operator()(const Arrays& query_key_value, const layers::AttentionMasks& masks = {}, bool need_weights = true,
                    bool average_weights = true);

 private:
  layers::Attention how_;
  layers::AttentionParameters parameters_;
  Dropout dropout_;  ///< checks the rate
};

struct TransformerOptions {
  int64_t feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  ///< relu or gelu
  double epsilon = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  ///< whether norms come before attention and feedforward layers
  bool bias = true;
};

/// Attention of x to itself and two linear layers, each with a sum around it and a norm.
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t embed, int64_t heads, const TransformerOptions& options = {});
  Array operator()(const Array& x) override;
  Array operator()(const Array& x, const layers::AttentionMasks& masks);

 private:
  Array attended(const Array& x, const layers::AttentionMasks& masks);
  Array fed_forward(const Array& x);

  std::string activation_;
  bool norm_first_;
  std::shared_ptr<MultiheadAttention> attention_;
  std::shared_ptr<Linear> linear1_, linear2_;
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  Dropout dropout_;
};

}  // namespace halfstep::capture
