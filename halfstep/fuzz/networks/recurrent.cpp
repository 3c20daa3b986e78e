// Recurrent layers and attention.
#include <algorithm>

#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

void make_recurrent(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 3, 3, is_full});
  maker.require(!maker.keeps_rows(x));
  const int64_t steps = x.dims[0], batch = x.dims[1], size = x.dims[2], hidden = maker.between(1, 4);
  const int64_t gates = (op == "LSTM" ? 4 : op == "GRU" ? 3 : 1) * hidden;
  const auto direction = maker.one_of<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  std::vector<Known> inputs = {x};
  inputs.push_back(maker.weights(DType::f32, {directions, gates, size}, -1, 1));
  inputs.push_back(maker.weights(DType::f32, {directions, gates, hidden}, -1, 1));
  inputs.push_back(maker.chance(0.6) ? maker.weights(DType::f32, {directions, 2 * gates}, -1, 1) : Maker::absent());
  inputs.push_back(maker.chance(0.2) ? maker.weights(DType::i32, {batch}, 1, static_cast<double>(steps))
                                     : Maker::absent());
  inputs.push_back(maker.chance(0.4) ? maker.weights(DType::f32, {directions, batch, hidden}, -1, 1) : Maker::absent());
  if (op == "LSTM" && maker.chance(0.3)) {
    inputs.push_back(maker.weights(DType::f32, {directions, batch, hidden}, -1, 1));
    if (maker.chance(0.5)) inputs.push_back(maker.weights(DType::f32, {directions, 3 * hidden}, -1, 1));
  }
  Attributes attributes = {{"hidden_size", hidden}};
  if (direction != "forward" || maker.chance(0.3)) attributes["direction"] = direction;
  if (op == "GRU" && maker.chance(0.5)) attributes["linear_before_reset"] = int64_t{1};
  if (maker.chance(0.15)) attributes["clip"] = 0.7;
  const Known y = x.with({steps, directions, batch, hidden}).between(-1, 1);
  const Known last = x.with({directions, batch, hidden}).between(-1, 1);
  std::vector<Known> results = {y};
  if (maker.chance(0.5)) results.push_back(last);
  if (op == "LSTM" && results.size() == 2 && maker.chance(0.5)) results.push_back(last.between(-3, 3));
  maker.nodes(op, inputs, results, attributes);
}

void make_attention(Maker& maker, std::string_view op) {
  const Known q = maker.any({{DType::f32}, 4, 4, is_full});
  const int64_t length = maker.between(1, 5);
  const auto like = [&](int64_t size) {
    return maker.weights(DType::f32, {q.dims[0], q.dims[1], length, size}, -1, 1);
  };
  maker.require(!maker.keeps_rows(q));
  const Known k = like(q.dims[3]), v = like(maker.between(1, 4));
  std::vector<Known> inputs = {q, k, v};
  if (maker.chance(0.4)) inputs.push_back(maker.weights(DType::f32, {q.dims[2], length}, -1, 1));
  Attributes attributes;
  if (maker.chance(0.3)) attributes["is_causal"] = int64_t{1};
  if (maker.chance(0.3)) attributes["scale"] = maker.real(0.2, 1);
  if (maker.chance(0.2)) attributes["softcap"] = maker.real(1, 5);
  maker.node(op, inputs, q.with({q.dims[0], q.dims[1], q.dims[2], v.dims[3]}).between(-1, 1), attributes);
}

void make_rotary(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 4, 4, [](const Known& v) { return is_full(v) && v.dims[3] % 2 == 0; }});
  maker.require(!maker.keeps_rows(x));
  const int64_t positions = maker.between(4, 8), half = x.dims[3] / 2;
  const Known cosines = maker.weights(DType::f32, {positions, half}, -1, 1),
              sines = maker.weights(DType::f32, {positions, half}, -1, 1);
  const Known ids = maker.weights(DType::i64, {x.dims[0], x.dims[2]}, 0, static_cast<double>(positions - 1));
  Attributes attributes;
  if (maker.chance(0.5)) attributes["interleaved"] = int64_t{1};
  maker.node(op, {x, cosines, sines, ids}, x.between(-2 * std::max(-x.low, x.high), 2 * std::max(-x.low, x.high)),
             attributes);
}

}  // namespace

Recipes recurrent_recipes() {
  return {{"LSTM", make_recurrent},
          {"GRU", make_recurrent},
          {"RNN", make_recurrent},
          {"Attention", make_attention, Home::floats, 23},
          {"RotaryEmbedding", make_rotary, Home::floats, 23}};
}

}  // namespace halfstep::fuzz
