#include "halfstep/engine/compile/select.h"

#include <fmt/format.h>

#include "halfstep/core/base/system_memory.h"
#include "halfstep/core/ir/flops.h"
#include "halfstep/engine/compile/errors.h"

namespace halfstep::compiler {
namespace {

/// The types and constants of one operation, as kernels see them.
class Use {
 public:
  Use(Op op, const runtime::Instruction& instruction, const runtime::ProgramSpec& spec, const Model& model) {
    for (const Value operand : op.operands()) in_.push_back(operand ? &operand.type() : nullptr);
    for (size_t port = 0; port < op.info().outputs.size(); ++port) {
      const Value result = op.out(static_cast<int>(port));
      out_.push_back(result ? &result.type() : nullptr);
    }
    for (const runtime::Operand& operand : instruction.in) {
      const runtime::Slot* slot = operand.slot < 0 ? nullptr : &spec.slots[static_cast<size_t>(operand.slot)];
      const bool is_tensor = slot != nullptr && slot->storage == runtime::Storage::tensor;
      const runtime::TensorSpec* tensor = is_tensor ? &spec.tensors[static_cast<size_t>(slot->index)] : nullptr;
      constants_.push_back(tensor != nullptr && tensor->frozen ? &model.tensors.at(tensor->name) : nullptr);
    }
  }

  kernels::Problem problem(Op op, const Selecting& how) const {
    return {op.info().name, op.attributes(), in_, out_, constants_, how.level, how.one_order, how.runs};
  }

  /// Packed contents are not read again, so pages of a mapped file need not stay in memory.
  void give_back(const kernels::Plan& plan) const {
    for (const size_t operand : plan.packed) {
      const Tensor& packed = *constants_[operand];
      if (packed.is_in_memory()) give_back_pages({packed.raw(), packed.bytes()});
    }
  }

  /// Stores the types of the Problem with the instruction. The program checks views against them.
  void mark_prepared(runtime::Instruction& instruction) const {
    mark(in_, instruction.in);
    mark(out_, instruction.out);
  }

 private:
  static void mark(const std::vector<const Type*>& types, std::vector<runtime::Operand>& operands) {
    HS_CHECK(types.size() == operands.size());
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != nullptr) operands[i].prepared = *types[i];
    }
  }

  std::vector<const Type*> in_, out_;
  std::vector<const Tensor*> constants_;
};

kernels::Plan prepare(const kernels::Kernel& kernel, const kernels::Problem& problem, const std::string& where) {
  try {
    return kernel.prepare(problem);
  } catch (const Error& error) {
    throw prefixed(fmt::format("{}: {}", where, problem.op), error);
  }
}

}  // namespace

std::vector<const kernels::Kernel*> candidates(Place place, std::string_view op) {
  if (place.kind == DeviceKind::cpu) {
    const auto all = kernels::cpu_kernels(op);
    return {all.begin(), all.end()};
  }
  if (place.kind == DeviceKind::cuda) {
    const auto all = kernels::cuda_kernels(op);
    return {all.begin(), all.end()};
  }
  if (place.kind == DeviceKind::sim && kernels::reference_kernel(op) != nullptr) return {kernels::reference_kernel(op)};
  return {};
}

Selection select_kernel(const kernels::Problem& problem, Place place, const std::string& where) {
  Selection selection;
  std::string refusals;
  for (const kernels::Kernel* kernel : candidates(place, problem.op)) {
    const Verdict verdict = kernel->accept(problem);
    if (verdict) {
      selection.kernel = kernel;
      selection.plan = prepare(*kernel, problem, where);
      return selection;
    }
    selection.refused.push_back({kernel->name, verdict.reason()});
    refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", kernel->name, verdict.reason());
  }
  fail(errors::no_kernel(fmt::format("{}: {}", where, problem.op), to_string(place),
                         refusals.empty() ? "there is none" : refusals));
}

void select_kernels(Lowering& lowering, const Model& model, const Selecting& how) {
  for (size_t i = 0; i < lowering.ops.size(); ++i) {
    const Op op = lowering.ops[i];
    if (!op) continue;
    runtime::Instruction& instruction = lowering.spec.instructions[i];
    const Use use(op, instruction, lowering.spec, model);
    Selection selection = select_kernel(use.problem(op, how), instruction.place, op.where());
    if (how.runs) use.give_back(selection.plan);
    instruction.kernel = selection.kernel;
    instruction.plan = std::move(selection.plan);
    instruction.flops = flops(op);
    instruction.refused = std::move(selection.refused);
    use.mark_prepared(instruction);
  }
}

}  // namespace halfstep::compiler
