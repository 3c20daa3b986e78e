#include "halfstep/passes/uses.h"

#include <algorithm>

#include "halfstep/base/status.h"

namespace halfstep::passes {

bool updates_state(Op op) {
  for (const Value result : op.results()) {
    const int state = op.info().output_at(result.port()).state_of;
    if (state >= 0 && op.in(state) && op.in(state).is_tensor()) return true;
  }
  return false;
}

Op updater_of(Value tensor) {
  Op updater;
  for (const auto& [op, operand] : tensor.uses()) {
    for (const Value result : op.results()) {
      if (op.info().output_at(result.port()).state_of != operand) continue;
      if (updater) {
        fail("{}: tensor '{}' is updated by node '{}' and by node '{}', expected one", op.where(), tensor.name(),
             updater.name(), op.name());
      }
      updater = op;
    }
  }
  return updater;
}

void expect_extents(const detail::ValueNode& value, Value made) {
  if (made.dims() == value.type.dims) return;
  throw Error(ErrorKind::internal, fmt::format("this is a bug: '{}' is {}, and '{}', which stands for it, is {}",
                                               value.name, to_string(value.type), made.name(), to_string(made.type())));
}

bool is_output(Value value) {
  const std::vector<Value> outputs = value.producer().node()->block->outputs();
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

}  // namespace halfstep::passes
