// The loss of sequences of labels without known positions.
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

/// The lengths, or by default the number of elements from 0 on of each row of `padded`.
Array lengths_of(const Array& given, const Array& padded) {
  if (given) return cast_like(given, padded);
  return sum(cast_like(capture::apply("greater_or_equal", {padded, number(0, padded)}), padded), {1});
}

/// The number of steps, for each sample.
Array all_steps(const Array& x, const Array& like) {
  return capture::full({like.dtype(), {x.dims()[0]}}, static_cast<double>(x.dims()[1]), like.place());
}

}  // namespace

Array ctc(const Call& call) {
  const Array &x = call.operands[0], &target = call.operands[1], &steps = call.operands[2];
  if (x.dims().size() != 3 || target.dims().size() != 2 || x.dims()[0] != target.dims()[0])
    refuse_extents("ctc", x, target, "an output [n, steps, classes] and a target [n, labels]");
  const Array lengths = lengths_of(call.operands[3], target);
  const Array log_probs = capture::apply("log_softmax", {x}, {{"axis", int64_t{-1}}});
  Array found =
      capture::apply("ctc_loss", {log_probs, target, steps ? cast_like(steps, target) : all_steps(x, target), lengths},
                     {{"blank", static_cast<int64_t>(call.options[0])}});
  if (call.reduction != Reduction::mean) return found;
  return found / larger(cast_like(lengths, found), number(1, found));
}

}  // namespace halfstep::losses
