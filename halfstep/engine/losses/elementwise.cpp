// Losses of single elements: regression and independent binary decisions.
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

Array difference(const Call& call) { return call.operands[0] - call.operands[1]; }

/// x * (1 - t) + (1 + (weight - 1) * t) * log(1 + exp(-x)).
Array binary(const Array& x, const Array& t, double weight) {
  const Array likelihood = unary("softplus", -x);
  return x * (1 - t) + (weight == 1 ? likelihood : likelihood * (t * (weight - 1) + 1));
}

}  // namespace

Array mse(const Call& call) { return square(difference(call)); }

Array l1(const Call& call) { return unary("abs", difference(call)); }

Array smooth_l1(const Call& call) {
  const double beta = call.options[0];
  Array d = unary("abs", difference(call));
  if (beta == 0) return d;
  return select(is_less(d, number(beta, d)), square(d) * (0.5 / beta), d - 0.5 * beta);
}

Array huber(const Call& call) {
  const double delta = call.options[0];
  const Array d = unary("abs", difference(call));
  return select(is_less(d, number(delta, d)), square(d) * 0.5, (d - 0.5 * delta) * delta);
}

Array bce_with_logits(const Call& call) { return binary(call.operands[0], call.operands[1], call.options[0]); }

Array focal(const Call& call) {
  const Array &x = call.operands[0], &t = call.operands[1];
  const double alpha = call.options[0], gamma = call.options[1];
  const Array p = unary("sigmoid", x);
  const Array wrong = p * (1 - t) + (1 - p) * t;  // the probability of the other answer
  Array found = binary(x, t, 1);
  if (gamma != 0) found = found * (gamma == 2 ? square(wrong) : power(wrong, gamma));
  return alpha < 0 ? found : found * (t * (2 * alpha - 1) + (1 - alpha));
}

}  // namespace halfstep::losses
