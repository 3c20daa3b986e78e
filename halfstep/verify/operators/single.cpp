#include "halfstep/verify/operators/single.h"

#include "halfstep/engine/compile/evaluate_operation.h"

namespace halfstep::verify {
namespace {

bool is_state(const Problem& problem, size_t operand) {
  const OpInfo& info = *problem.info;
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    if (info.outputs[port].state_of == static_cast<int>(operand) &&
        info.has_output(static_cast<int>(port), problem.use.attributes))
      return true;
  }
  return false;
}

/// A copy with complete attributes, as presence rules need them.
Problem completed(Problem problem) {
  problem.use.attributes = complete_attributes(*problem.info, std::move(problem.use.attributes), "problem");
  return problem;
}

Op insert(Graph& graph, const Problem& problem, std::vector<Value> operands) {
  return graph.insert({problem.info, std::move(operands), problem.use.attributes, problem.info->name, {}});
}

std::vector<Tensor> by_port(Op op, const std::map<std::string, Tensor>& outputs) {
  std::vector<Tensor> results;
  for (size_t port = 0; port < op.info().outputs.size(); ++port) {
    const auto found = outputs.find(op.info().outputs[port].name);
    results.push_back(found == outputs.end() ? Tensor() : found->second);
  }
  return results;
}

}  // namespace

std::string_view name(OperandSource source) {
  return source == OperandSource::arguments ? "operands fed" : "operands as tensors";
}

Single make_single(const Problem& given, const std::vector<Tensor>& operands, OperandSource source) {
  const Problem problem = completed(given);
  Single single;
  Graph& graph = single.model.graph;
  std::vector<Value> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    values.emplace_back();
    if (!operands[i].defined()) continue;
    const std::string name = graph.unique_name(operand_name(problem, i));
    const bool state = is_state(problem, i);
    if (source == OperandSource::tensors && (i > 0 || state)) {
      values.back() = graph.add_tensor(name, operands[i].type(), state ? Role::state : Role::constant);
      single.model.tensors[name] = operands[i];
    } else {
      values.back() = graph.add_argument(name, operands[i].type());
      single.inputs[name] = operands[i];
    }
  }
  single.op = insert(graph, problem, std::move(values));
  std::vector<std::string> names;
  for (const Value result : single.op.results())
    names.push_back(problem.info->outputs[static_cast<size_t>(result.port())].name);
  graph.set_outputs(single.op.results(), std::move(names));
  return single;
}

void check_problem(const Problem& given) {
  const Problem problem = completed(given);
  Graph graph;
  std::vector<Value> values;
  for (size_t i = 0; i < problem.use.in.size(); ++i) {
    const auto& type = problem.use.in[i];
    values.push_back(type ? graph.add_argument(operand_name(problem, i), *type) : Value());
  }
  insert(graph, problem, std::move(values));
}

std::vector<Tensor> execute(const Single& single, CpuLevel level, Place place, ThreadPool& pool, Order order) {
  CompileOptions options;
  options.level = level;
  options.place = place;
  options.optimize = false;
  options.one_order = order == Order::one;
  return by_port(single.op, compile(single.model, options).run(single.inputs, pool));
}

std::vector<Tensor> reference_results(const Single& single, const std::vector<Tensor>& operands) {
  const std::vector<Tensor> produced = compiler::evaluate(single.op, operands);
  std::vector<Tensor> results(single.op.info().outputs.size());
  size_t next = 0;
  for (const Value result : single.op.results()) results[static_cast<size_t>(result.port())] = produced[next++];
  return results;
}

}  // namespace halfstep::verify
