#include "halfstep/core/ir/flops.h"

#include <algorithm>

#include "halfstep/core/ir/dim.h"

namespace halfstep {
namespace {

const Type* type_of(Value value) { return value ? &value.type() : nullptr; }

OpTypes types_of(Op op) {
  OpTypes types;
  for (const Value operand : op.operands()) types.in.push_back(type_of(operand));
  for (size_t port = 0; port < op.info().outputs.size(); ++port)
    types.out.push_back(type_of(op.out(static_cast<int>(port))));
  return types;
}

int64_t largest_count(const OpTypes& types) {
  int64_t largest = 0;
  for (const auto* list : {&types.in, &types.out}) {
    for (const Type* type : *list) {
      if (type == nullptr) continue;
      if (!type->is_static()) return kUnknown;
      largest = std::max(largest, count_elements(type->dims));
    }
  }
  return largest;
}

}  // namespace

int64_t flops(Op op) {
  const OpTypes types = types_of(op);
  return op.info().flops != nullptr ? op.info().flops(types) : largest_count(types);
}

int64_t flops(const Graph& graph) {
  Dim sum = 0;
  for (const Op op : graph.ops()) sum = sum + Dim(flops(op));
  return sum.value();
}

}  // namespace halfstep
