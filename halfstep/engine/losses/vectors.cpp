// Losses of pairs and triples of vectors, for embeddings.
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

Array dot(const Array& a, const Array& b) { return sum(a * b, {static_cast<int64_t>(a.dims().size()) - 1}); }

/// The p-norm of a - b along the last axis. A small number keeps the gradient of equal vectors finite.
Array distance(const Array& a, const Array& b, double p) {
  constexpr double kApart = 1e-6;
  const Array d = a - b + kApart;
  if (p == 2) return unary("sqrt", dot(d, d));
  const Array size = unary("abs", d);
  const std::vector<int64_t> last = {static_cast<int64_t>(d.dims().size()) - 1};
  return p == 1 ? sum(size, last) : power(sum(power(size, p), last), 1 / p);
}

}  // namespace

Array cosine_embedding(const Call& call) {
  constexpr double kNotZero = 1e-12;
  const Array &a = call.operands[0], &b = call.operands[1], &target = call.operands[2];
  const Array cosine = dot(a, b) / unary("sqrt", (dot(a, a) + kNotZero) * (dot(b, b) + kNotZero));
  if (target.dims() != cosine.dims())
    refuse_extents("cosine_embedding", a, target, "a target of 1 or -1 for each pair of vectors");
  return select(is_less(number(0, target), target), 1 - cosine, positive_part(cosine - call.options[0]));
}

Array triplet_margin(const Call& call) {
  const double margin = call.options[0], p = call.options[1];
  const Array& anchor = call.operands[0];
  return positive_part(distance(anchor, call.operands[1], p) - distance(anchor, call.operands[2], p) + margin);
}

}  // namespace halfstep::losses
