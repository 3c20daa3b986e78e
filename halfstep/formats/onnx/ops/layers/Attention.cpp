// Scaled dot product attention. Past keys and values precede the new ones, and the joined ones are outputs too.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };
enum Output : size_t { kResult, kPresentKey, kPresentValue, kScores };

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

/// Reshapes [batch, length, heads * size] to [batch, heads, length, size].
Operand by_head(Translator& translator, const Node& node, const Operand& x, int64_t heads) {
  if (x.dims().size() != 3) return x;
  if (heads < 1) fail(errors::wrong_count(node.where(), "heads", heads, "at least 1"));
  const int64_t size = x.dims()[2] == kUnknown ? -1 : x.dims()[2] / heads;
  const Operand split = translator.reshaped(node, x, {0, 0, heads, size});
  return translator.make_one(node, "transpose", {split}, {{"perm", kSwapHeads}});
}

/// Reshapes [batch, heads, length, size] to [batch, length, heads * size].
Operand heads_together(Translator& translator, const Node& node, const Operand& x) {
  const Operand rows = translator.make_one(node, "transpose", {x}, {{"perm", kSwapHeads}});
  return translator.reshaped(node, rows, {0, 0, -1});
}

Operand with_past(Translator& translator, const Node& node, const Operand& past, const Operand& x) {
  if (!past.there()) return x;
  return translator.make_one(node, "concat", {past, x}, {{"axis", int64_t{2}}});
}

}  // namespace

void translate_Attention(Translator& translator, const Node& node) {
  std::vector<Operand> in;
  for (size_t i = kQuery; i <= kLengths; ++i) in.push_back(translator.in(node, i));
  if (!in[kQuery].there() || !in[kKey].there() || !in[kValue].there())
    fail(errors::part_missing(node.where(), "a query, key or value"));
  node.attribute("softmax_precision");  // Halfstep computes it in double
  const bool has_present = in[kPastKey].there() || node.has_output(kPresentKey) || node.has_output(kPresentValue);
  const bool joined = in[kQuery].dims().size() == 3;
  int64_t heads = node.integer("q_num_heads", 0), kv_heads = node.integer("kv_num_heads", 0), past = 0;
  if (has_present) {
    in[kQuery] = by_head(translator, node, in[kQuery], heads);
    in[kKey] = with_past(translator, node, in[kPastKey], by_head(translator, node, in[kKey], kv_heads));
    in[kValue] = with_past(translator, node, in[kPastValue], by_head(translator, node, in[kValue], kv_heads));
    heads = kv_heads = 0;
    if (in[kPastKey].there()) past = in[kPastKey].dims().at(2);
    if (past == kUnknown) fail(errors::depends_on_extents("the length of the past keys"));
  }
  const Attributes attributes = {{"heads", joined ? heads : 0},
                                 {"kv_heads", joined ? kv_heads : 0},
                                 {"scale", node.real("scale", 0)},
                                 {"softcap", node.real("softcap", 0)},
                                 {"is_causal", node.integer("is_causal", 0) != 0},
                                 {"past", past},
                                 {"left_window", node.integer("left_window_size", -1)},
                                 {"right_window", node.integer("right_window_size", -1)},
                                 {"with_scores", node.has_output(kScores)},
                                 {"scores_mode", node.integer("qk_matmul_output_mode", 0)}};
  const auto results =
      translator.make(node, "attention", {in[kQuery], in[kKey], in[kValue], in[kMask], in[kLengths]}, attributes);
  const bool split = joined && has_present;
  translator.set(node, kResult, split ? heads_together(translator, node, results[0]) : results[0]);
  translator.set(node, kPresentKey, in[kKey]);
  translator.set(node, kPresentValue, in[kValue]);
  if (node.has_output(kScores)) translator.set(node, kScores, results[1]);
}

}  // namespace halfstep::formats::onnx
