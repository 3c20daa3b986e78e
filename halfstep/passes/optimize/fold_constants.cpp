#include "halfstep/passes/optimize/fold_constants.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

bool is_known(Value value) { return value.is_tensor() && value.role() == Role::constant; }

bool has_constant_operands(Op op) {
  bool any = false;
  for (const Value operand : op.operands()) {
    if (operand && !is_known(operand)) return false;
    any = any || operand;
  }
  return any;
}

bool is_small(const std::vector<Value>& values) {
  int64_t bytes = 0;
  for (const Value value : values) {
    if (!value.type().is_static()) return false;
    bytes += count_elements(value.dims()) * static_cast<int64_t>(size_of(value.dtype()));
  }
  return bytes <= kMaxFoldedBytes;
}

bool can_fold(Op op) {
  const std::vector<Value> results = op.results();
  return op.regions().empty() && has_constant_operands(op) && !updates_state(op) && !op.is<ops::Transfer>() &&
         std::ranges::none_of(results, is_output) && is_small(results);
}

void fold(Model& model, Op op, const Evaluate& evaluate) {
  std::vector<Tensor> operands;
  for (const Value operand : op.operands()) operands.push_back(operand ? model.tensors.at(operand.name()) : Tensor());
  const std::vector<Tensor> contents = evaluate(op, operands);
  const std::vector<Value> results = op.results();
  HS_CHECK(contents.size() == results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    HS_CHECK(contents[i].type() == results[i].type());
    results[i].replace_all_uses_with(add_tensor(model, results[i].name(), contents[i], Role::constant));
  }
  model.graph.erase(op);
}

}  // namespace

void fold_constants(Model& model, const Evaluate& evaluate, const Folds& folds) {
  for (const Op op : model.graph.all_ops()) {
    if (can_fold(op) && (!folds || folds(op))) fold(model, op, evaluate);
  }
}

}  // namespace halfstep::passes
