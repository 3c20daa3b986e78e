// Recurrent layers of ONNX. A sequence is computed in double, and its results are rounded once.
#include "halfstep/engine/kernels/recurrent/sequence.h"

namespace halfstep::kernels {
namespace {

template <class Typed, Cell cell>
Plan prepare_recurrence(const Problem& problem) {
  std::shared_ptr<Recurrence> state = recurrence_of<Typed>(problem, cell);
  const size_t scratch = static_cast<size_t>(state->scratch()) * sizeof(double);
  const int64_t pieces = state->directions * state->batch;
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

template <template <class> class Step>
Status run_recurrence(const Call& call, int, int64_t piece) {
  const auto& rule = state_of<Recurrence>(call);
  with_any_float(call.in[Lstm::in::x].dtype, [&]<class T>() {
    Sequence<T> s(call, rule, piece);
    const Step<T> step(call, s);
    T* y = call.out[Lstm::out::y].as<T>();
    for (int64_t i = 0; i < rule.steps; ++i) {
      const int64_t at = rule.step_at(i, s.length, s.direction);
      if (i < s.length) {
        s.start_step(at);
        step();
      }
      T* row = y == nullptr ? nullptr : y + rule.y_row(at, s.direction, s.entry);
      for (int64_t k = 0; row != nullptr && k < rule.hidden; ++k) row[k] = from_double<T>(i < s.length ? s.h[k] : 0.0);
    }
    s.store(s.h, call.out[Lstm::out::y_h].as<T>());
    if constexpr (requires { step.c; }) s.store(step.c, call.out[Lstm::out::y_c].as<T>());
  });
  return {};
}

}  // namespace

extern const Kernel reference_lstm{"reference", accept_gates<Lstm>, prepare_recurrence<Lstm, Cell::lstm>,
                                   run_recurrence<LstmStep>};
extern const Kernel reference_gru{"reference", accept_gates<Gru>, prepare_recurrence<Gru, Cell::gru>,
                                  run_recurrence<GruStep>};
extern const Kernel reference_rnn{"reference", accept_gates<Rnn>, prepare_recurrence<Rnn, Cell::rnn>,
                                  run_recurrence<RnnStep>};

}  // namespace halfstep::kernels
