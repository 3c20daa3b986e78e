// Recurrent layers in f32. The products of x with w are computed for all steps at once, and those of the state with r
// for several entries of the batch. An entry's numbers do not depend on the others, nor on threads.
#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/recurrent/sequence.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/recurrent/cpu/tiles.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after the targets, because they are compiled once for each.
#include "halfstep/engine/kernels/common/simd/squares-inl.h"
#include "halfstep/engine/kernels/elementwise/simd-inl.h"
#include "halfstep/engine/kernels/matrix/cpu/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::recurrent::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using elementwise::HWY_NAMESPACE::sigmoid_of;
using matrix::TileProduct;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

void multiply_rows(const TileProduct& product, int64_t rows) { matrix::HWY_NAMESPACE::multiply(product, rows); }

/// Transposes [rows, columns] to [columns, rows].
void arrange(const float* from, int64_t rows, int64_t columns, float* to) {
  squares::HWY_NAMESPACE::turn(from, columns, rows, columns, to, rows);
}

template <class Function>
HWY_INLINE void map(float* values, int64_t size, const Function& function) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(function(hn::LoadU(d, values + i)), d, values + i);
  if (i == size) return;
  const Vector rest = matrix::HWY_NAMESPACE::load_some<false>(values + i, size - i);
  matrix::HWY_NAMESPACE::store_some<false>(function(rest), values + i, size - i);
}

/// Applies an activation of kActivations in place, after clipping to -clip..clip unless clip is 0.
void activate(size_t activation, float clip, float* values, int64_t size) {
  const Tag d;
  if (clip > 0) map(values, size, [=](Vector x) { return hn::Min(hn::Max(x, hn::Set(d, -clip)), hn::Set(d, clip)); });
  if (activation == 0) return map(values, size, [d](Vector x) { return sigmoid_of(d, x); });
  if (activation == 1) return map(values, size, [d](Vector x) { return hn::Tanh(d, x); });
  map(values, size, [d](Vector x) { return hn::Max(x, hn::Zero(d)); });
}

}  // namespace halfstep::kernels::recurrent::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace recurrent {
namespace {

using In = Lstm::in;
using Out = Lstm::out;
constexpr std::array<const char*, 3> kActivations = {"sigmoid", "tanh", "relu"};
/// Rows of x of a piece, and entries of the batch that share the reads of r.
constexpr int64_t kRows = 64, kEntries = 8;

struct Layer {
  std::shared_ptr<Recurrence> rule;
  std::vector<size_t> activations;  ///< positions in kActivations
  decltype(&N_AVX2::multiply_rows) multiply_rows;
  decltype(&N_AVX2::arrange) arrange;
  decltype(&N_AVX2::activate) activate;

  int64_t x_rows() const { return rule->steps * rule->batch; }
  int64_t x_blocks() const { return ceil_div(x_rows(), kRows); }
  int64_t entry_blocks() const { return ceil_div(rule->batch, kEntries); }
  /// Scratch of a call, in floats: by direction the columns of w and r, then the sums of the gates from x.
  int64_t w_size() const { return rule->size * rule->gates; }
  int64_t r_size() const { return rule->hidden * rule->gates; }
  int64_t sums_size() const { return x_rows() * rule->gates; }
  int64_t per_direction() const { return w_size() + r_size() + sums_size(); }
  int64_t worker_floats() const { return kEntries * (rule->gates + 3 * rule->hidden); }
};

struct Parts {
  float *w, *r, *sums;
  Parts(const Call& call, const Layer& layer, int64_t direction)
      : w(reinterpret_cast<float*>(call.scratch) + direction * layer.per_direction()),
        r(w + layer.w_size()),
        sums(r + layer.r_size()) {}
};

std::vector<size_t> activations_of(const std::vector<Gate>& gates) {
  const std::vector<Gate> known = gates_of({kActivations.begin(), kActivations.end()}, {}, {});
  std::vector<size_t> found;
  for (const Gate& gate : gates) {
    const auto at = std::ranges::find(known, gate.function, &Gate::function);
    found.push_back(static_cast<size_t>(at - known.begin()));
  }
  return found;
}

template <class Typed, Cell cell>
Verdict accept_layer(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_gates<Typed>(problem); !verdict) return verdict;
  const DType dtype = problem.in[In::x]->dtype;
  if (dtype != DType::f32) return refuse(errors::kernel_takes_other_types("x", name(dtype), "f32"));
  const std::shared_ptr<Recurrence> rule = recurrence_of<Typed>(problem, cell);
  if (rule->steps * rule->batch * rule->size * rule->hidden == 0)
    return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  for (const size_t activation : activations_of(rule->activations)) {
    if (activation == kActivations.size())
      return refuse(errors::kernel_is_for_other_options("another activation", "sigmoid, tanh and relu"));
  }
  return accept();
}

template <class Typed, Cell cell>
Plan prepare_layer(const Problem& problem) {
  std::shared_ptr<Recurrence> rule = recurrence_of<Typed>(problem, cell);
  auto layer =
      std::make_shared<Layer>(rule, activations_of(rule->activations), HS_SIMD_CHOOSE(problem.level, multiply_rows),
                              HS_SIMD_CHOOSE(problem.level, arrange), HS_SIMD_CHOOSE(problem.level, activate));
  const int64_t directions = rule->directions;
  return {.state = layer,
          .scratch = static_cast<size_t>(directions * layer->per_direction()) * sizeof(float),
          .worker_scratch = static_cast<size_t>(layer->worker_floats()) * sizeof(float),
          .phases = {2 * directions, directions * layer->x_blocks(), directions * layer->entry_blocks()}};
}

void arrange_weights(const Call& call, const Layer& layer, int64_t direction, bool is_r) {
  const Recurrence& rule = *layer.rule;
  const Parts parts(call, layer, direction);
  const int64_t columns = is_r ? rule.hidden : rule.size;
  const float* from = call.in[is_r ? In::r : In::w].as<const float>() + direction * rule.gates * columns;
  layer.arrange(from, rule.gates, columns, is_r ? parts.r : parts.w);
}

void multiply_x(const Call& call, const Layer& layer, int64_t direction, int64_t block) {
  const Recurrence& rule = *layer.rule;
  const Parts parts(call, layer, direction);
  const int64_t row = block * kRows;
  layer.multiply_rows({.a = call.in[In::x].as<const float>() + row * rule.size,
                       .b = parts.w,
                       .a_row = rule.size,
                       .b_row = rule.gates,
                       .depth = rule.size,
                       .c = parts.sums + row * rule.gates,
                       .c_row = rule.gates,
                       .columns = rule.gates},
                      std::min(kRows, layer.x_rows() - row));
}

/// Some entries of the batch in one direction.
class Block {
 public:
  Block(const Call& call, const Layer& layer, int64_t direction, int64_t block)
      : call_(call),
        layer_(layer),
        rule_(*layer.rule),
        parts_(call, layer, direction),
        direction_(direction),
        first_(block * kEntries),
        count_(std::min(kEntries, rule_.batch - first_)),
        from_h_(reinterpret_cast<float*>(call.worker_scratch)),
        h_(from_h_ + kEntries * rule_.gates),
        c_(h_ + kEntries * rule_.hidden),
        spare_(c_ + kEntries * rule_.hidden),
        b_(call.in[In::b].present() ? call.in[In::b].as<const float>() + direction * 2 * rule_.gates : nullptr),
        p_(has(In::p) ? call.in[In::p].as<const float>() + direction * 3 * rule_.hidden : nullptr) {}

  void run() {
    for (int64_t e = 0; e < count_; ++e) {
      load(In::initial_h, e, h_);
      if (rule_.cell == Cell::lstm) load(In::initial_c, e, c_);
    }
    for (int64_t i = 0; i < rule_.steps; ++i) {
      multiply(h_, 0, rule_.gates);
      if (resets_first()) reset_states(i);
      for (int64_t e = 0; e < count_; ++e) step(i, e);
    }
    for (int64_t e = 0; e < count_; ++e) {
      store(Out::y_h, e, h_);
      if (rule_.cell == Cell::lstm) store(Out::y_c, e, c_);
    }
  }

 private:
  bool has(int port) const {
    return port < static_cast<int>(call_.in.size()) && call_.in[static_cast<size_t>(port)].present();
  }
  bool resets_first() const { return rule_.cell == Cell::gru && !rule_.linear_first; }
  bool runs(int64_t i, int64_t e) const { return i < rule_.length(call_, first_ + e); }
  int64_t place(int64_t i, int64_t e) const { return rule_.step_at(i, rule_.length(call_, first_ + e), direction_); }
  const float* from_x(int64_t i, int64_t e) const {
    return parts_.sums + rule_.x_row(place(i, e), first_ + e) / rule_.size * rule_.gates;
  }

  void load(int port, int64_t e, float* states) const {
    float* dst = states + e * rule_.hidden;
    if (!has(port)) return static_cast<void>(std::fill_n(dst, rule_.hidden, 0.0F));
    std::copy_n(call_.in[static_cast<size_t>(port)].as<const float>() + rule_.state_row(direction_, first_ + e),
                rule_.hidden, dst);
  }
  void store(int port, int64_t e, const float* states) const {
    float* dst = call_.out[static_cast<size_t>(port)].as<float>();
    if (dst != nullptr)
      std::copy_n(states + e * rule_.hidden, rule_.hidden, dst + rule_.state_row(direction_, first_ + e));
  }

  /// The sums of the gates from `column` on, from states.
  void multiply(const float* states, int64_t column, int64_t columns) const {
    layer_.multiply_rows({.a = states,
                          .b = parts_.r + column,
                          .a_row = rule_.hidden,
                          .b_row = rule_.gates,
                          .depth = rule_.hidden,
                          .c = from_h_ + column,
                          .c_row = rule_.gates,
                          .columns = columns},
                         count_);
  }

  void activate(size_t gate, float clip, float* values, int64_t size) const {
    layer_.activate(layer_.activations[static_cast<size_t>(direction_) * rule_.per_direction() + gate], clip, values,
                    size);
  }
  float clip() const { return static_cast<float>(rule_.clip); }

  /// from_h[k] += the sums from x and both biases, for the elements [begin, end) of the gates.
  void add_sums(int64_t i, int64_t e, int64_t begin, int64_t end) const {
    const float* x = from_x(i, e);
    float* sums = from_h_ + e * rule_.gates;
    for (int64_t k = begin; k < end; ++k) sums[k] += x[k];
    for (int64_t k = begin; b_ != nullptr && k < end; ++k) sums[k] += b_[k] + b_[rule_.gates + k];
  }

  /// gru without linear_before_reset: the sums of the hidden gate are those of the reset states.
  void reset_states(int64_t i) {
    for (int64_t e = 0; e < count_; ++e) {
      if (!runs(i, e)) continue;
      float *sums = from_h_ + e * rule_.gates, *reset = sums + rule_.hidden;
      add_sums(i, e, 0, 2 * rule_.hidden);
      activate(0, clip(), sums, 2 * rule_.hidden);
      for (int64_t k = 0; k < rule_.hidden; ++k) c_[e * rule_.hidden + k] = reset[k] * h_[e * rule_.hidden + k];
    }
    multiply(c_, 2 * rule_.hidden, rule_.hidden);
  }

  void step(int64_t i, int64_t e) {
    const bool is_step = runs(i, e);
    float* h = h_ + e * rule_.hidden;
    if (is_step) {
      float* sums = from_h_ + e * rule_.gates;
      switch (rule_.cell) {
        case Cell::rnn: step_rnn(i, e, sums, h); break;
        case Cell::gru: step_gru(i, e, sums, h); break;
        case Cell::lstm: step_lstm(i, e, sums, h); break;
      }
    }
    float* y = call_.out[Out::y].as<float>();
    if (y == nullptr) return;
    float* row = y + rule_.y_row(place(i, e), direction_, first_ + e);
    if (is_step) {
      std::copy_n(h, rule_.hidden, row);
    } else {
      std::fill_n(row, rule_.hidden, 0.0F);
    }
  }

  void step_rnn(int64_t i, int64_t e, float* sums, float* h) {
    add_sums(i, e, 0, rule_.gates);
    activate(0, clip(), sums, rule_.hidden);
    std::copy_n(sums, rule_.hidden, h);
  }

  void step_gru(int64_t i, int64_t e, float* sums, float* h) {
    const int64_t hidden = rule_.hidden;
    float *update = sums, *reset = sums + hidden, *next = sums + 2 * hidden;
    if (resets_first()) {
      add_sums(i, e, 2 * hidden, 3 * hidden);
    } else {
      add_sums(i, e, 0, 2 * hidden);
      activate(0, clip(), sums, 2 * hidden);
      const float* x = from_x(i, e) + 2 * hidden;
      const float* b = b_ == nullptr ? nullptr : b_ + 2 * hidden;
      for (int64_t k = 0; k < hidden; ++k)
        next[k] = x[k] + (b == nullptr ? reset[k] * next[k] : b[k] + reset[k] * (next[k] + b[rule_.gates + k]));
    }
    activate(1, clip(), next, hidden);
    for (int64_t k = 0; k < hidden; ++k) h[k] = (1 - update[k]) * next[k] + update[k] * h[k];
  }

  void add_peepholes(int64_t number, const float* c, float* sums) const {
    for (int64_t k = 0; p_ != nullptr && k < rule_.hidden; ++k) sums[k] += p_[number * rule_.hidden + k] * c[k];
  }

  void step_lstm(int64_t i, int64_t e, float* sums, float* h) {
    const int64_t hidden = rule_.hidden;
    float *input = sums, *output = sums + hidden, *forget = sums + 2 * hidden, *cell = sums + 3 * hidden;
    float *c = c_ + e * hidden, *squashed = spare_ + e * hidden;
    add_sums(i, e, 0, rule_.gates);
    add_peepholes(0, c, input);
    add_peepholes(2, c, forget);
    activate(0, clip(), input, hidden);
    activate(0, clip(), forget, hidden);
    activate(1, clip(), cell, hidden);
    for (int64_t k = 0; k < hidden; ++k) c[k] = (rule_.couples ? 1 - input[k] : forget[k]) * c[k] + input[k] * cell[k];
    add_peepholes(1, c, output);
    activate(0, clip(), output, hidden);
    std::copy_n(c, hidden, squashed);
    activate(2, 0, squashed, hidden);
    for (int64_t k = 0; k < hidden; ++k) h[k] = output[k] * squashed[k];
  }

  const Call& call_;
  const Layer& layer_;
  const Recurrence& rule_;
  Parts parts_;
  int64_t direction_, first_, count_;
  float *from_h_, *h_, *c_, *spare_;
  const float *b_, *p_;
};

Status run_layer(const Call& call, int phase, int64_t piece) {
  const auto& layer = state_of<Layer>(call);
  if (phase == 0) {
    arrange_weights(call, layer, piece / 2, piece % 2 == 1);
  } else if (phase == 1) {
    multiply_x(call, layer, piece / layer.x_blocks(), piece % layer.x_blocks());
  } else {
    Block(call, layer, piece / layer.entry_blocks(), piece % layer.entry_blocks()).run();
  }
  return {};
}

}  // namespace
}  // namespace recurrent

extern const Kernel cpu_lstm_tiles{"tiles", recurrent::accept_layer<Lstm, Cell::lstm>,
                                   recurrent::prepare_layer<Lstm, Cell::lstm>, recurrent::run_layer};
extern const Kernel cpu_gru_tiles{"tiles", recurrent::accept_layer<Gru, Cell::gru>,
                                  recurrent::prepare_layer<Gru, Cell::gru>, recurrent::run_layer};
extern const Kernel cpu_rnn_tiles{"tiles", recurrent::accept_layer<Rnn, Cell::rnn>,
                                  recurrent::prepare_layer<Rnn, Cell::rnn>, recurrent::run_layer};

}  // namespace halfstep::kernels
#endif
