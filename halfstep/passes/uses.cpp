#include "halfstep/passes/uses.h"

#include <algorithm>

namespace halfstep::passes {

bool updates_state(Op op) {
  for (const Value result : op.results()) {
    const int state = op.info().outputs[static_cast<size_t>(result.port())].state_of;
    if (state >= 0 && op.in(state) && op.in(state).is_tensor()) return true;
  }
  return false;
}

bool is_output(Value value) {
  const std::vector<Value> outputs = value.producer().node()->block->outputs();
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

}  // namespace halfstep::passes
