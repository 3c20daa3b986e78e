// Recurrent layers of ONNX. A sequence is computed in double, and its results are rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// An activation of ONNX's recurrent operators with its constants.
struct Gate {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;
  double operator()(double x) const { return function(x, alpha, beta); }
};

struct GateKind {
  std::string_view name;
  int constants;  ///< number of constants that it takes from the lists
  Gate gate;      ///< function with default constants
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr std::array<GateKind, 11> kGates = {{
    {"sigmoid", 0, {[](double x, double, double) { return sigmoid(x); }}},
    {"tanh", 0, {[](double x, double, double) { return std::tanh(x); }}},
    {"relu", 0, {[](double x, double, double) { return x < 0 ? 0 : x; }}},
    {"softsign", 0, {[](double x, double, double) { return x / (1 + std::fabs(x)); }}},
    {"softplus", 0, {[](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }}},
    {"affine", 2, {[](double x, double alpha, double beta) { return alpha * x + beta; }, 1, 0}},
    {"leakyrelu", 1, {[](double x, double alpha, double) { return x < 0 ? alpha * x : x; }, 0.01, 0}},
    {"thresholdedrelu", 1, {[](double x, double alpha, double) { return x > alpha ? x : 0; }, 1, 0}},
    {"scaledtanh", 2, {[](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }, 1, 1}},
    {"hardsigmoid", 2, {[](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, 0.2, 0.5}},
    {"elu", 1, {[](double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }, 1, 0}},
}};

const GateKind* find_gate(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found =
      std::find_if(kGates.begin(), kGates.end(), [&](const GateKind& kind) { return kind.name == name; });
  return found == kGates.end() ? nullptr : &*found;
}

/// The activations of the attributes in order. Each takes its constants from the lists. Without activations,
/// `otherwise` for each direction.
template <class Typed>
std::vector<Gate> gates_of(const Typed& a, std::span<const std::string_view> otherwise, int64_t directions) {
  std::vector<std::string> names = a.activations;
  const int64_t repeats = names.empty() ? directions : 0;
  for (int64_t i = 0; i < repeats; ++i) names.insert(names.end(), otherwise.begin(), otherwise.end());
  std::vector<Gate> gates;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const GateKind& kind = *find_gate(name);
    Gate gate = kind.gate;
    if (kind.constants >= 1 && alpha < a.activation_alpha.size()) gate.alpha = a.activation_alpha[alpha++];
    if (kind.constants >= 2 && beta < a.activation_beta.size()) gate.beta = a.activation_beta[beta++];
    gates.push_back(gate);
  }
  return gates;
}

template <class Typed>
Verdict accept_gates(const Problem& problem) {
  for (const std::string& name : Typed(problem.attributes).activations) {
    if (find_gate(name) == nullptr) return refuse(errors::pointwise_function_unknown(name));
  }
  return accept();
}

struct Recurrence {
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
};

template <class Typed>
Plan prepare_recurrence(const Problem& problem, std::span<const std::string_view> otherwise) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[Typed::in::x]->dims;
  const Dims& r = problem.in[Typed::in::r]->dims;
  auto state = std::make_shared<Recurrence>();
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
  state->activations = gates_of(a, otherwise, state->directions);
  const auto scratch = static_cast<size_t>(2 * state->gates + 3 * state->hidden) * sizeof(double);
  const int64_t pieces = state->directions * state->batch;
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

/// sums[g] = offset(g) + weights[g, ...] . values
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
  T *y, *y_h;

  Sequence(const Call& call, const Recurrence& recurrence, int64_t piece, ConstView lengths, ConstView initial_h)
      : rule(recurrence),
        direction(piece / recurrence.batch),
        entry(piece % recurrence.batch),
        length(lengths.present() ? std::clamp<int64_t>(lengths.as<const int32_t>()[entry], 0, recurrence.steps)
                                 : recurrence.steps),
        x(call.in[Rnn::in::x].as<const T>()),
        w(call.in[Rnn::in::w].as<const T>() + direction * recurrence.gates * recurrence.size),
        r(call.in[Rnn::in::r].as<const T>() + direction * recurrence.gates * recurrence.hidden),
        b(call.in[Rnn::in::b].present() ? call.in[Rnn::in::b].as<const T>() + direction * 2 * recurrence.gates
                                        : nullptr),
        from_x(reinterpret_cast<double*>(call.worker_scratch)),
        from_h(from_x + recurrence.gates),
        h(from_h + recurrence.gates),
        y(call.out[0].as<T>()),
        y_h(call.out[1].as<T>()) {
    load(initial_h, h);
  }

  void load(ConstView initial, double* values) const {
    const T* src = initial.present() ? initial.as<const T>() + rule.state_row(direction, entry) : nullptr;
    for (int64_t i = 0; i < rule.hidden; ++i) values[i] = src == nullptr ? 0 : to_double(src[i]);
  }
  const Gate& gate(size_t i) const {
    return rule.activations[static_cast<size_t>(direction) * rule.per_direction() + i];
  }
  bool runs_backwards() const { return rule.backwards || direction == 1; }

  /// Computes the sums of the step with biases. `from_h` has the sums of the previous state.
  void start_step(int64_t step) {
    for (int64_t g = 0; g < rule.gates; ++g) {
      from_x[g] = b == nullptr ? 0 : to_double(b[g]);
      from_h[g] = b == nullptr ? 0 : to_double(b[rule.gates + g]);
    }
    std::array<double, kChunk> values;
    const T* row = x + rule.x_row(step, entry);
    for (int64_t begin = 0; begin < rule.size; begin += kChunk) {
      const int64_t count = std::min(kChunk, rule.size - begin);
      for (int64_t i = 0; i < count; ++i) values[i] = to_double(row[begin + i]);
      for (int64_t g = 0; g < rule.gates; ++g)
        add_products(w + g * rule.size + begin, values.data(), 1, count, from_x + g);
    }
    add_products(r, h, rule.gates, rule.hidden, from_h);
  }

  template <class Step>
  void run(const Step& step_rule) {
    for (int64_t i = 0; i < rule.steps; ++i) {
      const int64_t step = i < length && runs_backwards() ? length - 1 - i : i;
      T* row = y == nullptr ? nullptr : y + rule.y_row(step, direction, entry);
      if (i < length) {
        start_step(step);
        step_rule();
      }
      for (int64_t k = 0; row != nullptr && k < rule.hidden; ++k) row[k] = from_double<T>(i < length ? h[k] : 0.0);
    }
    store(h, y_h);
  }

  void store(const double* values, T* states) const {
    for (int64_t k = 0; states != nullptr && k < rule.hidden; ++k)
      states[rule.state_row(direction, entry) + k] = from_double<T>(values[k]);
  }

  static constexpr int64_t kChunk = 512;
};

// lstm

constexpr std::array<std::string_view, 3> kLstmGates = {"sigmoid", "tanh", "tanh"};
Plan prepare_lstm(const Problem& problem) { return prepare_recurrence<Lstm>(problem, kLstmGates); }

Status run_lstm(const Call& call, int, int64_t piece) {
  using In = Lstm::in;
  const auto& rule = state_of<Recurrence>(call);
  with_any_float(call.in[In::x].dtype, [&]<class T>() {
    Sequence<T> s(call, rule, piece, call.in[In::sequence_lens], call.in[In::initial_h]);
    const int64_t hidden = rule.hidden;
    double* c = s.h + hidden;
    s.load(call.in[In::initial_c], c);
    const T* p = call.in[In::p].present() ? call.in[In::p].as<const T>() + s.direction * 3 * hidden : nullptr;
    const auto peephole = [&](int64_t gate, int64_t k, double cell) {
      return p == nullptr ? 0 : to_double(p[gate * hidden + k]) * cell;
    };
    const auto sum = [&](int64_t gate, int64_t k) { return s.from_x[gate * hidden + k] + s.from_h[gate * hidden + k]; };
    s.run([&] {
      for (int64_t k = 0; k < hidden; ++k) {
        const double input = s.gate(0)(rule.clipped(sum(0, k) + peephole(0, k, c[k])));
        const double forget = rule.couples ? 1 - input : s.gate(0)(rule.clipped(sum(2, k) + peephole(2, k, c[k])));
        c[k] = forget * c[k] + input * s.gate(1)(rule.clipped(sum(3, k)));
        const double output = s.gate(0)(rule.clipped(sum(1, k) + peephole(1, k, c[k])));
        s.h[k] = output * s.gate(2)(c[k]);
      }
    });
    s.store(c, call.out[Lstm::out::y_c].as<T>());
  });
  return {};
}

// gru

constexpr std::array<std::string_view, 2> kGruGates = {"sigmoid", "tanh"};
Plan prepare_gru(const Problem& problem) { return prepare_recurrence<Gru>(problem, kGruGates); }

Status run_gru(const Call& call, int, int64_t piece) {
  using In = Gru::in;
  const auto& rule = state_of<Recurrence>(call);
  with_any_float(call.in[In::x].dtype, [&]<class T>() {
    Sequence<T> s(call, rule, piece, call.in[In::sequence_lens], call.in[In::initial_h]);
    const int64_t hidden = rule.hidden;
    double* reset_h = s.h + hidden;
    double* update = reset_h + hidden;
    s.run([&] {
      for (int64_t k = 0; k < hidden; ++k) {
        update[k] = s.gate(0)(rule.clipped(s.from_x[k] + s.from_h[k]));
        const double reset = s.gate(0)(rule.clipped(s.from_x[hidden + k] + s.from_h[hidden + k]));
        reset_h[k] = rule.linear_first ? reset * s.from_h[2 * hidden + k] : reset * s.h[k];
      }
      if (!rule.linear_first) {
        double* sums = s.from_h + 2 * hidden;
        for (int64_t k = 0; k < hidden; ++k) sums[k] = s.b == nullptr ? 0 : to_double(s.b[rule.gates + 2 * hidden + k]);
        add_products(s.r + 2 * hidden * hidden, reset_h, hidden, hidden, sums);
        std::copy_n(sums, hidden, reset_h);
      }
      for (int64_t k = 0; k < hidden; ++k) {
        const double next = s.gate(1)(rule.clipped(s.from_x[2 * hidden + k] + reset_h[k]));
        s.h[k] = (1 - update[k]) * next + update[k] * s.h[k];
      }
    });
  });
  return {};
}

// rnn

constexpr std::array<std::string_view, 1> kRnnGates = {"tanh"};
Plan prepare_rnn(const Problem& problem) { return prepare_recurrence<Rnn>(problem, kRnnGates); }

Status run_rnn(const Call& call, int, int64_t piece) {
  using In = Rnn::in;
  const auto& rule = state_of<Recurrence>(call);
  with_any_float(call.in[In::x].dtype, [&]<class T>() {
    Sequence<T> s(call, rule, piece, call.in[In::sequence_lens], call.in[In::initial_h]);
    s.run([&] {
      for (int64_t k = 0; k < rule.hidden; ++k) s.h[k] = s.gate(0)(rule.clipped(s.from_x[k] + s.from_h[k]));
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_lstm{"reference", accept_gates<Lstm>, prepare_lstm, run_lstm};
extern const Kernel reference_gru{"reference", accept_gates<Gru>, prepare_gru, run_gru};
extern const Kernel reference_rnn{"reference", accept_gates<Rnn>, prepare_rnn, run_rnn};

}  // namespace halfstep::kernels
