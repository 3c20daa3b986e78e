// Losses of classes: one class for each sample or each position.
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

Dims without(Dims dims, size_t axis) {
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return dims;
}

Array unsqueezed(const Array& x) { return capture::apply("unsqueeze", {x}, {{"axes", std::vector<int64_t>{1}}}); }

/// 1 for the class of each position, along a new second axis.
Array one_hot(const Array& target, int64_t classes, const Array& like) {
  const Array off = number(0, like), on = number(1, like);
  const Array values = capture::apply("concat", {reshape(off, {1}), reshape(on, {1})}, {{"axis", int64_t{0}}});
  return capture::apply("one_hot", {values, target}, {{"depth", classes}, {"axis", int64_t{1}}});
}

}  // namespace

Array cross_entropy(const Call& call) {
  const Array &x = call.operands[0], &target = call.operands[1];
  const size_t rank = x.dims().size();
  if (rank < 2 || target.dims().size() + 1 != rank)
    refuse_extents("cross_entropy", x, target, "a class for each sample or each position");
  const bool is_last = rank > 2 && without(x.dims(), 1) != target.dims();  // classes along the last axis
  if (without(x.dims(), is_last ? rank - 1 : 1) != target.dims())
    refuse_extents("cross_entropy", x, target, "a class for each sample or each position");
  const Attributes attributes = {{"reduction", std::string("none")}, {"smoothing", call.options[0]}};
  if (!is_last) return capture::apply("softmax_cross_entropy_loss", {x, target, {}}, attributes);
  const Array flat = capture::apply("softmax_cross_entropy_loss",
                                    {reshape(x, {count_elements(target.dims()), x.dims().back()}),
                                     reshape(target, {count_elements(target.dims())}),
                                     {}},
                                    attributes);
  return reshape(flat, target.dims());
}

Array dice(const Call& call) {
  const double smooth = call.options[0];
  const Array& x = call.operands[0];
  Array target = call.operands[1], kept = call.kept, p;
  const size_t rank = x.dims().size();
  const bool are_classes = rank >= 2 && x.dims()[1] > 1 && without(x.dims(), 1) == target.dims();
  if (are_classes) {
    p = capture::apply("softmax", {x}, {{"axis", int64_t{1}}});
    target = one_hot(target, x.dims()[1], x);
    if (kept) kept = unsqueezed(kept);
  } else {
    if (rank < 2 || count_elements(target.dims()) != count_elements(x.dims()))
      refuse_extents("dice", x, target, "a class for each position, or a target for each element");
    p = unary("sigmoid", x);
    target = reshape(cast_like(target, x), x.dims());
    if (kept) kept = reshape(kept, x.dims());
  }
  if (kept) {
    p = p * kept;
    target = target * kept;
  }
  const std::vector<int64_t> axes = axes_from(rank > 2 ? 2 : 1, x);
  return 1 - (sum(p * target, axes) * 2 + smooth) / (sum(p, axes) + sum(target, axes) + smooth);
}

}  // namespace halfstep::losses
