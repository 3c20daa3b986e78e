#include "halfstep/engine/compile/evaluate_operation.h"

#include <fmt/format.h>

#include "halfstep/core/machine/float_environment.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::compiler {
namespace {

Status run_all(const kernels::Kernel& kernel, const kernels::Plan& plan, const kernels::Call& call) {
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    for (int64_t piece = 0; piece < plan.phases[phase]; ++piece) {
      if (Status status = kernel.run(call, static_cast<int>(phase), piece); !status.ok()) return status;
    }
  }
  return {};
}

}  // namespace

std::vector<Tensor> evaluate(Op op, const std::vector<Tensor>& operands) {
  const FloatEnvironment environment;
  const kernels::Kernel* kernel = kernels::reference_kernel(op.info().name);
  HS_CHECK(kernel != nullptr);
  std::vector<const Type*> in_types, out_types;
  std::vector<const Tensor*> constants;
  std::vector<kernels::ConstView> in;
  std::vector<kernels::View> out;
  for (const Tensor& operand : operands) {
    in_types.push_back(operand.defined() ? &operand.type() : nullptr);
    constants.push_back(operand.defined() ? &operand : nullptr);
    in.push_back(operand.defined() ? kernels::ConstView{operand.raw(), operand.dtype(), operand.dims()}
                                   : kernels::ConstView{});
  }
  std::vector<Tensor> results;
  for (const Value result : op.results()) results.emplace_back(result.dtype(), result.dims());
  auto next = results.begin();
  for (size_t port = 0; port < op.info().outputs.size(); ++port) {
    const bool produced = static_cast<bool>(op.out(static_cast<int>(port)));
    out_types.push_back(produced ? &next->type() : nullptr);
    out.push_back(produced ? kernels::View{next->raw(), next->dtype(), next->dims()} : kernels::View{});
    if (produced) ++next;
  }
  const kernels::Problem problem{op.info().name, op.attributes(), in_types, out_types, constants, CpuLevel::scalar};
  const auto named = [&](const Diagnostic& one) {
    return prefixed(fmt::format("{}: {}", op.where(), op.info().name), Error(one));
  };
  if (const Verdict verdict = kernel->accept(problem); !verdict) throw named(verdict.diagnostic());
  const kernels::Plan plan = kernel->prepare(problem);
  std::vector<std::byte> scratch(plan.scratch), worker_scratch(plan.worker_scratch);
  const Status status = run_all(*kernel, plan, {plan.state.get(), in, out, scratch.data(), worker_scratch.data()});
  if (!status.ok()) throw named(status.diagnostic());
  return results;
}

}  // namespace halfstep::compiler
