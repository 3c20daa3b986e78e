// Gradients of recurrent layers. The states are recomputed in double, every sum is in double in a fixed order, and each
// element is rounded once. Phases: the gradients of the gates of every step, those of weights, of
// peepholes and of x.
#include <utility>

#include "halfstep/engine/kernels/recurrent/sequence.h"

namespace halfstep::kernels {
namespace {

using In = RecurrentGrad::in;
using Out = RecurrentGrad::out;

/// Numbers of one step. After the step is differentiated, the sums have become their gradients.
struct Slot {
  double *from_x, *from_h;
  double* h;        ///< the state before the step
  double* further;  ///< lstm: the cell before the step. gru: the reset gate times h
};

/// Slots of all sequences, in the scratch of a call.
struct Tape {
  const Recurrence& rule;
  double* memory;

  static int64_t per_slot(const Recurrence& rule) { return 2 * rule.gates + 2 * rule.hidden; }
  static int64_t per_piece(const Recurrence& rule) { return rule.steps * per_slot(rule) + 3 * rule.hidden; }

  Slot slot(int64_t direction, int64_t entry, int64_t step) const {
    double* begin = piece(direction, entry) + step * per_slot(rule);
    return {begin, begin + rule.gates, begin + 2 * rule.gates, begin + 2 * rule.gates + rule.hidden};
  }
  /// Sums for the gradient of p.
  double* peepholes(int64_t direction, int64_t entry) const {
    return piece(direction, entry) + rule.steps * per_slot(rule);
  }

 private:
  double* piece(int64_t direction, int64_t entry) const {
    return memory + (direction * rule.batch + entry) * per_piece(rule);
  }
};

Tape tape_of(const Call& call) { return {state_of<Recurrence>(call), reinterpret_cast<double*>(call.scratch)}; }

Plan prepare_recurrent_grad(const Problem& problem) {
  const std::string kind = RecurrentGrad(problem.attributes).cell;
  const Cell cell = kind == "lstm" ? Cell::lstm : kind == "gru" ? Cell::gru : Cell::rnn;
  std::shared_ptr<Recurrence> state = recurrence_of<RecurrentGrad>(problem, cell);
  const Recurrence& rule = *state;
  const int64_t doubles = std::max(rule.scratch() + 3 * rule.hidden, rule.size + rule.hidden);
  const int64_t sequences = rule.directions * rule.batch;
  return {
      .state = std::move(state),
      .scratch = static_cast<size_t>(sequences * Tape::per_piece(rule)) * sizeof(double),
      .worker_scratch = static_cast<size_t>(doubles) * sizeof(double),
      .phases = {sequences, rule.directions * rule.gates, rule.directions * 3 * rule.hidden, rule.steps * rule.batch}};
}

/// Gradients of the state after a step, which become those of the state before it.
struct StateGradients {
  double *h, *c, *reset_h;
  double* peepholes;
};

/// sums[i] += weights[row, i] * factors[row]
template <class T>
void add_transposed(const T* weights, const double* factors, int64_t rows, int64_t size, double* sums) {
  for (int64_t row = 0; row < rows; ++row, weights += size) {
    for (int64_t i = 0; i < size; ++i) sums[i] += to_double(weights[i]) * factors[row];
  }
}

// Each `differentiate` reads the sums of a step from its slot, which the sequence has as its own, and replaces them by
// their gradients. It returns the number of rows of r that read the previous state itself.

template <class T>
int64_t differentiate(const RnnStep<T>& step, const Slot& slot, const StateGradients& grad) {
  for (int64_t k = 0; k < step.s.rule.hidden; ++k) {
    slot.from_x[k] = slot.from_h[k] = grad.h[k] * step.s.slope_of(0, step.s.sum(0, k));
    grad.h[k] = 0;
  }
  return step.s.rule.gates;
}

template <class T>
int64_t differentiate(const GruStep<T>& step, const Slot& slot, const StateGradients& grad) {
  const Sequence<T>& s = step.s;
  const int64_t hidden = s.rule.hidden;
  double *hidden_x = slot.from_x + 2 * hidden, *hidden_h = slot.from_h + 2 * hidden;
  for (int64_t k = 0; k < hidden; ++k) {
    const double reset = s.gate_of(0, s.sum(1, k)), update_sum = s.sum(0, k), sum = step.hidden_sum(k, reset);
    const double update = s.gate_of(0, update_sum), out_grad = grad.h[k];
    const double sum_grad = out_grad * (1 - update) * s.slope_of(1, sum);
    slot.from_x[k] = slot.from_h[k] = out_grad * (slot.h[k] - s.gate_of(1, sum)) * s.slope_of(0, update_sum);
    grad.reset_h[k] = s.rule.linear_first ? sum_grad * hidden_h[k] : 0;
    hidden_x[k] = sum_grad;
    hidden_h[k] = s.rule.linear_first ? sum_grad * reset : sum_grad;
    slot.further[k] = reset * slot.h[k];
    grad.h[k] = out_grad * update;
  }
  if (!s.rule.linear_first) add_transposed(s.r + 2 * hidden * hidden, hidden_h, hidden, hidden, grad.reset_h);
  for (int64_t k = 0; k < hidden; ++k) {
    const double sum = s.sum(1, k);
    if (!s.rule.linear_first) {
      grad.h[k] += grad.reset_h[k] * s.gate_of(0, sum);
      grad.reset_h[k] *= slot.h[k];
    }
    slot.from_x[hidden + k] = slot.from_h[hidden + k] = grad.reset_h[k] * s.slope_of(0, sum);
  }
  return s.rule.linear_first ? s.rule.gates : 2 * hidden;
}

template <class T>
int64_t differentiate(const LstmStep<T>& step, const Slot& slot, const StateGradients& grad) {
  const Sequence<T>& s = step.s;
  const int64_t hidden = s.rule.hidden;
  for (int64_t k = 0; k < hidden; ++k) {
    const double previous = slot.further[k];
    const auto e = step.element(k, previous);
    const double output_grad = grad.h[k] * s.gate(2)(e.c) * s.slope_of(0, e.output_sum);
    const double c_grad = grad.c[k] + grad.h[k] * e.output * s.gate(2).slope(e.c) + output_grad * step.peephole(1, k);
    const double of_input = s.rule.couples ? e.cell - previous : e.cell;
    const double input_grad = c_grad * of_input * s.slope_of(0, e.input_sum);
    const double forget_grad = s.rule.couples ? 0 : c_grad * previous * s.slope_of(0, e.forget_sum);
    const std::array<double, 4> grads = {input_grad, output_grad, forget_grad,
                                         c_grad * e.input * s.slope_of(1, e.cell_sum)};
    for (int64_t gate = 0; gate < 4; ++gate)
      slot.from_x[gate * hidden + k] = slot.from_h[gate * hidden + k] = grads[static_cast<size_t>(gate)];
    grad.peepholes[k] += input_grad * previous;
    grad.peepholes[hidden + k] += output_grad * e.c;
    grad.peepholes[2 * hidden + k] += forget_grad * previous;
    grad.c[k] = c_grad * e.forget + input_grad * step.peephole(0, k) + forget_grad * step.peephole(2, k);
    grad.h[k] = 0;
  }
  return s.rule.gates;
}

/// Runs a sequence and keeps its sums and states.
template <class T, class Step>
void record(Sequence<T>& s, const Step& step, const Tape& tape) {
  for (int64_t i = 0; i < s.length; ++i) {
    const int64_t at = s.rule.step_at(i, s.length, s.direction);
    const Slot slot = tape.slot(s.direction, s.entry, at);
    std::copy_n(s.h, s.rule.hidden, slot.h);
    std::copy_n(s.further, s.rule.hidden, slot.further);
    s.from_x = slot.from_x;
    s.from_h = slot.from_h;
    s.start_step(at);
    step();
  }
}

/// The gradients of the gates of one sequence, and of its first state.
template <class T, class Step>
void differentiate_sequence(const Call& call, int64_t piece) {
  const auto& rule = state_of<Recurrence>(call);
  const Tape tape = tape_of(call);
  Sequence<T> s(call, rule, piece);
  const Step step(call, s);
  double* h_grad = s.h + 4 * rule.hidden;
  const StateGradients grad{h_grad, h_grad + rule.hidden, h_grad + 2 * rule.hidden,
                            tape.peepholes(s.direction, s.entry)};
  record(s, step, tape);
  std::fill_n(grad.peepholes, 3 * rule.hidden, 0.0);
  s.load(call.in[In::y_h_grad], grad.h);
  s.load(call.in[In::y_c_grad], grad.c);
  const ConstView& y_grad = call.in[In::y_grad];
  for (int64_t i = s.length; i-- > 0;) {
    const int64_t at = rule.step_at(i, s.length, s.direction);
    const Slot slot = tape.slot(s.direction, s.entry, at);
    s.from_x = slot.from_x;
    s.from_h = slot.from_h;
    const T* row = y_grad.present() ? y_grad.as<const T>() + rule.y_row(at, s.direction, s.entry) : nullptr;
    for (int64_t k = 0; row != nullptr && k < rule.hidden; ++k) grad.h[k] += to_double(row[k]);
    const int64_t rows = differentiate(step, slot, grad);
    add_transposed(s.r, slot.from_h, rows, rule.hidden, grad.h);
  }
  s.store(grad.h, call.out[Out::initial_h_grad].as<T>());
  s.store(grad.c, call.out[Out::initial_c_grad].as<T>());
}

template <class T>
void store(const double* sums, int64_t count, T* dst) {
  for (int64_t i = 0; dst != nullptr && i < count; ++i) dst[i] = from_double<T>(sums[i]);
}

/// The elements of a result from `begin` on, or nullptr if the result does not exist.
template <class T>
T* part(const View& out, int64_t begin) {
  return out.present() ? out.as<T>() + begin : nullptr;
}

/// The gradients of row `gate` of w and r, and of its biases.
template <class T>
void sum_weights(const Call& call, int64_t direction, int64_t gate) {
  const auto& rule = state_of<Recurrence>(call);
  const Tape tape = tape_of(call);
  const bool reads_reset = rule.cell == Cell::gru && !rule.linear_first && gate >= 2 * rule.hidden;
  auto* w_sums = reinterpret_cast<double*>(call.worker_scratch);
  double* r_sums = w_sums + rule.size;
  std::fill_n(w_sums, rule.size + rule.hidden, 0.0);
  std::array<double, 2> b_sums = {};
  for (int64_t entry = 0; entry < rule.batch; ++entry) {
    const int64_t length = rule.length(call, entry);
    for (int64_t step = 0; step < length; ++step) {
      const Slot slot = tape.slot(direction, entry, step);
      const double x_grad = slot.from_x[gate], h_grad = slot.from_h[gate];
      add_transposed(call.in[In::x].as<const T>() + rule.x_row(step, entry), &x_grad, 1, rule.size, w_sums);
      add_transposed(reads_reset ? slot.further : slot.h, &h_grad, 1, rule.hidden, r_sums);
      b_sums[0] += x_grad;
      b_sums[1] += h_grad;
    }
  }
  const int64_t row = direction * rule.gates + gate;
  store(w_sums, rule.size, part<T>(call.out[Out::w_grad], row * rule.size));
  store(r_sums, rule.hidden, part<T>(call.out[Out::r_grad], row * rule.hidden));
  store(&b_sums[0], 1, part<T>(call.out[Out::b_grad], row + direction * rule.gates));
  store(&b_sums[1], 1, part<T>(call.out[Out::b_grad], row + (direction + 1) * rule.gates));
}

template <class T>
void sum_peephole(const Call& call, int64_t direction, int64_t number) {
  const auto& rule = state_of<Recurrence>(call);
  double sum = 0;
  for (int64_t entry = 0; entry < rule.batch; ++entry) sum += tape_of(call).peepholes(direction, entry)[number];
  store(&sum, 1, part<T>(call.out[Out::p_grad], direction * 3 * rule.hidden + number));
}

template <class T>
void sum_x(const Call& call, int64_t step, int64_t entry) {
  const auto& rule = state_of<Recurrence>(call);
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  std::fill_n(sums, rule.size, 0.0);
  for (int64_t direction = 0; step < rule.length(call, entry) && direction < rule.directions; ++direction) {
    const T* w = call.in[In::w].as<const T>() + direction * rule.gates * rule.size;
    add_transposed(w, tape_of(call).slot(direction, entry, step).from_x, rule.gates, rule.size, sums);
  }
  store(sums, rule.size, part<T>(call.out[Out::x_grad], rule.x_row(step, entry)));
}

Status run_recurrent_grad(const Call& call, int phase, int64_t piece) {
  const auto& rule = state_of<Recurrence>(call);
  with_any_float(call.in[In::x].dtype, [&]<class T>() {
    if (phase == 1) return sum_weights<T>(call, piece / rule.gates, piece % rule.gates);
    if (phase == 2) return sum_peephole<T>(call, piece / (3 * rule.hidden), piece % (3 * rule.hidden));
    if (phase == 3) return sum_x<T>(call, piece / rule.batch, piece % rule.batch);
    switch (rule.cell) {
      case Cell::rnn: return differentiate_sequence<T, RnnStep<T>>(call, piece);
      case Cell::gru: return differentiate_sequence<T, GruStep<T>>(call, piece);
      case Cell::lstm: return differentiate_sequence<T, LstmStep<T>>(call, piece);
    }
  });
  return {};
}

}  // namespace

extern const Kernel reference_recurrent_grad{"reference", accept_gates<RecurrentGrad>, prepare_recurrent_grad,
                                             run_recurrent_grad};

}  // namespace halfstep::kernels
