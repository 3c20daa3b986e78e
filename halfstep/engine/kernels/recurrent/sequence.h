// Recurrent layers of ONNX, one sequence at a time in double.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/recurrent/gates.h"

namespace halfstep::kernels {

enum class Cell { rnn, gru, lstm };

/// Extents and attributes of a recurrent layer.
struct Recurrence {
  Cell cell;
  int64_t steps, batch, size, hidden, directions, gates;
  bool batch_first;
  bool backwards;  ///< runs the only direction backwards. Of two directions, the second always runs backwards
  double clip;
  bool couples = false;       ///< lstm: the forget gate is 1 - the input gate
  bool linear_first = false;  ///< gru: linear_before_reset
  std::vector<Gate> activations;

  size_t per_direction() const { return activations.size() / static_cast<size_t>(directions); }
  int64_t x_row(int64_t step, int64_t entry) const {
    return (batch_first ? entry * steps + step : step * batch + entry) * size;
  }
  int64_t y_row(int64_t step, int64_t direction, int64_t entry) const {
    return (batch_first ? (entry * steps + step) * directions + direction
                        : (step * directions + direction) * batch + entry) *
           hidden;
  }
  int64_t state_row(int64_t direction, int64_t entry) const {
    return (batch_first ? entry * directions + direction : direction * batch + entry) * hidden;
  }
  double clipped(double x) const { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
  /// Number of steps of an entry. The rest of x is not read.
  int64_t length(const Call& call, int64_t entry) const {
    const ConstView& lengths = call.in[Lstm::in::sequence_lens];
    return lengths.present() ? std::clamp<int64_t>(lengths.as<const int32_t>()[entry], 0, steps) : steps;
  }
  /// Position of the step that a direction takes as its i-th.
  int64_t step_at(int64_t i, int64_t length, int64_t direction) const {
    return i < length && (backwards || direction == 1) ? length - 1 - i : i;
  }
  /// Numbers of doubles that a Sequence needs.
  int64_t scratch() const { return 2 * gates + 4 * hidden; }
};

inline std::vector<std::string> default_gates(Cell cell) {
  switch (cell) {
    case Cell::rnn: return {"tanh"};
    case Cell::gru: return {"sigmoid", "tanh"};
    case Cell::lstm: return {"sigmoid", "tanh", "tanh"};
  }
  return {};
}

/// The ports x, w, r, b, sequence_lens and initial_h have the same positions in all recurrent operators.
template <class Typed>
std::shared_ptr<Recurrence> recurrence_of(const Problem& problem, Cell cell) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[Lstm::in::x]->dims;
  const Dims& r = problem.in[Lstm::in::r]->dims;
  auto state = std::make_shared<Recurrence>();
  state->cell = cell;
  state->batch_first = a.layout == 1;
  state->steps = x[state->batch_first ? 1 : 0];
  state->batch = x[state->batch_first ? 0 : 1];
  state->size = x[2];
  state->directions = r[0];
  state->gates = r[1];
  state->hidden = r[2];
  state->backwards = a.direction == "reverse";
  state->clip = a.clip;
  if constexpr (requires { a.input_forget; }) state->couples = a.input_forget;
  if constexpr (requires { a.linear_before_reset; }) state->linear_first = a.linear_before_reset;
  std::vector<std::string> names = a.activations;
  for (int64_t i = 0; a.activations.empty() && i < state->directions; ++i) {
    for (const std::string& name : default_gates(cell)) names.push_back(name);
  }
  state->activations = gates_of(names, a.activation_alpha, a.activation_beta);
  return state;
}

template <class Typed>
Verdict accept_gates(const Problem& problem) {
  return accept_gate_names(Typed(problem.attributes).activations);
}

/// sums[row] += weights[row, ...] . values
template <class T, class V>
void add_products(const T* weights, const V* values, int64_t rows, int64_t size, double* sums) {
  for (int64_t row = 0; row < rows; ++row, weights += size) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += to_double(weights[i]) * static_cast<double>(values[i]);
    sums[row] += sum;
  }
}

/// One direction of one entry of the batch: its operands and its state.
template <class T>
struct Sequence {
  const Recurrence& rule;
  int64_t direction, entry, length;
  const T *x, *w, *r, *b;
  double *from_x, *from_h, *h;  ///< sums of the gates from x and from h, and the state
  double* further;              ///< 3 * hidden numbers of the cell

  Sequence(const Call& call, const Recurrence& recurrence, int64_t piece)
      : rule(recurrence),
        direction(piece / recurrence.batch),
        entry(piece % recurrence.batch),
        length(recurrence.length(call, entry)),
        x(call.in[Lstm::in::x].as<const T>()),
        w(call.in[Lstm::in::w].as<const T>() + direction * recurrence.gates * recurrence.size),
        r(call.in[Lstm::in::r].as<const T>() + direction * recurrence.gates * recurrence.hidden),
        b(call.in[Lstm::in::b].present() ? call.in[Lstm::in::b].as<const T>() + direction * 2 * recurrence.gates
                                         : nullptr),
        from_x(reinterpret_cast<double*>(call.worker_scratch)),
        from_h(from_x + recurrence.gates),
        h(from_h + recurrence.gates),
        further(h + recurrence.hidden) {
    load(call.in[Lstm::in::initial_h], h);
  }

  /// Reads the row of this sequence in a tensor of states. Zeros without it.
  void load(ConstView states, double* values) const {
    const T* src = states.present() ? states.as<const T>() + rule.state_row(direction, entry) : nullptr;
    for (int64_t i = 0; i < rule.hidden; ++i) values[i] = src == nullptr ? 0 : to_double(src[i]);
  }
  void store(const double* values, T* states) const {
    for (int64_t k = 0; states != nullptr && k < rule.hidden; ++k)
      states[rule.state_row(direction, entry) + k] = from_double<T>(values[k]);
  }
  const Gate& gate(size_t i) const {
    return rule.activations[static_cast<size_t>(direction) * rule.per_direction() + i];
  }
  double gate_of(size_t i, double sum) const { return gate(i)(rule.clipped(sum)); }
  /// Derivative of gate_of.
  double slope_of(size_t i, double sum) const {
    return rule.clip > 0 && std::fabs(sum) > rule.clip ? 0 : gate(i).slope(sum);
  }
  double sum(int64_t gate, int64_t k) const { return from_x[gate * rule.hidden + k] + from_h[gate * rule.hidden + k]; }

  /// Computes the sums of the step with biases. `from_h` has the sums of the previous state.
  void start_step(int64_t step) const {
    for (int64_t g = 0; g < rule.gates; ++g) {
      from_x[g] = b == nullptr ? 0 : to_double(b[g]);
      from_h[g] = b == nullptr ? 0 : to_double(b[rule.gates + g]);
    }
    std::array<double, kChunk> values;
    const T* row = x + rule.x_row(step, entry);
    for (int64_t begin = 0; begin < rule.size; begin += kChunk) {
      const int64_t count = std::min(kChunk, rule.size - begin);
      for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = to_double(row[begin + i]);
      for (int64_t g = 0; g < rule.gates; ++g)
        add_products(w + g * rule.size + begin, values.data(), 1, count, from_x + g);
    }
    add_products(r, h, rule.gates, rule.hidden, from_h);
  }

  static constexpr int64_t kChunk = 512;
};

/// A step of a cell: reads the sums of a sequence and changes its state.
template <class T>
struct RnnStep {
  Sequence<T>& s;
  RnnStep(const Call&, Sequence<T>& sequence) : s(sequence) {}

  void operator()() const {
    for (int64_t k = 0; k < s.rule.hidden; ++k) s.h[k] = s.gate_of(0, s.sum(0, k));
  }
};

template <class T>
struct GruStep {
  Sequence<T>& s;
  double *update, *reset, *reset_h;
  GruStep(const Call&, Sequence<T>& sequence)
      : s(sequence), update(s.further), reset(update + s.rule.hidden), reset_h(reset + s.rule.hidden) {}

  double hidden_sum(int64_t k, double reset_gate) const {
    const int64_t at = 2 * s.rule.hidden + k;
    return s.from_x[at] + (s.rule.linear_first ? reset_gate * s.from_h[at] : s.from_h[at]);
  }
  void operator()() const {
    const int64_t hidden = s.rule.hidden;
    for (int64_t k = 0; k < hidden; ++k) {
      update[k] = s.gate_of(0, s.sum(0, k));
      reset[k] = s.gate_of(0, s.sum(1, k));
      reset_h[k] = reset[k] * s.h[k];
    }
    if (!s.rule.linear_first) {
      double* sums = s.from_h + 2 * hidden;
      for (int64_t k = 0; k < hidden; ++k) sums[k] = s.b == nullptr ? 0 : to_double(s.b[s.rule.gates + 2 * hidden + k]);
      add_products(s.r + 2 * hidden * hidden, reset_h, hidden, hidden, sums);
    }
    for (int64_t k = 0; k < hidden; ++k)
      s.h[k] = (1 - update[k]) * s.gate_of(1, hidden_sum(k, reset[k])) + update[k] * s.h[k];
  }
};

template <class T>
struct LstmStep {
  /// The numbers of one element.
  struct Element {
    double input_sum, forget_sum, cell_sum, output_sum;  ///< before the activations
    double input, forget, cell, c, output;
  };

  Sequence<T>& s;
  double* c;
  const T* p;
  LstmStep(const Call& call, Sequence<T>& sequence) : s(sequence), c(s.further) {
    s.load(call.in[Lstm::in::initial_c], c);
    const ConstView& peepholes = call.in[Lstm::in::p];
    p = peepholes.present() ? peepholes.as<const T>() + s.direction * 3 * s.rule.hidden : nullptr;
  }

  double peephole(int64_t gate, int64_t k) const { return p == nullptr ? 0 : to_double(p[gate * s.rule.hidden + k]); }
  Element element(int64_t k, double previous) const {
    Element e{};
    e.input_sum = s.sum(0, k) + peephole(0, k) * previous;
    e.forget_sum = s.sum(2, k) + peephole(2, k) * previous;
    e.cell_sum = s.sum(3, k);
    e.input = s.gate_of(0, e.input_sum);
    e.forget = s.rule.couples ? 1 - e.input : s.gate_of(0, e.forget_sum);
    e.cell = s.gate_of(1, e.cell_sum);
    e.c = e.forget * previous + e.input * e.cell;
    e.output_sum = s.sum(1, k) + peephole(1, k) * e.c;
    e.output = s.gate_of(0, e.output_sum);
    return e;
  }
  void operator()() const {
    for (int64_t k = 0; k < s.rule.hidden; ++k) {
      const Element e = element(k, c[k]);
      c[k] = e.c;
      s.h[k] = e.output * s.gate(2)(e.c);
    }
  }
};

}  // namespace halfstep::kernels
