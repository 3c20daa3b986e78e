#include "halfstep/core/ir/detail.h"

namespace halfstep {

std::string_view name(Role role) {
  switch (role) {
    case Role::parameter: return "param";
    case Role::state: return "state";
    case Role::constant: return "const";
  }
  return {};
}

Op Value::producer() const { return Op(node_->producer); }

std::vector<std::pair<Op, int>> Value::uses() const {
  std::vector<std::pair<Op, int>> uses;
  for (const detail::Use& use : node_->uses) uses.emplace_back(Op(use.op), use.operand);
  return uses;
}

void Value::replace_all_uses_with(Value other) const {
  if (other == *this) return;
  if (other.type() != type()) {
    fail(errors::defect("graph", fmt::format("'{}' is {}, and '{}', which replaces it, is {}", name(),
                                             to_string(type()), other.name(), to_string(other.type()))));
  }
  for (const detail::Use& use : node_->uses) {
    use.op->operands[static_cast<size_t>(use.operand)] = other.node();
    detail::add_use(other.node(), use.op, use.operand);
  }
  node_->uses.clear();
  node_->updates = 0;
}

}  // namespace halfstep
