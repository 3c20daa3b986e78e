#include "halfstep/engine/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/system_memory.h"
#include "halfstep/engine/compile/dependencies.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/compile/fetch.h"
#include "halfstep/engine/compile/lower.h"
#include "halfstep/engine/compile/outline.h"
#include "halfstep/engine/compile/pack.h"
#include "halfstep/engine/compile/parts.h"
#include "halfstep/engine/compile/pipeline.h"
#include "halfstep/engine/compile/placement.h"
#include "halfstep/engine/compile/plan.h"
#include "halfstep/engine/compile/region_programs.h"
#include "halfstep/engine/compile/select.h"
#include "halfstep/engine/runtime/errors.h"
#include "halfstep/passes/graph/run_pass.h"
#include "halfstep/passes/graph/settle_extents.h"
#include "halfstep/passes/graph/traits.h"

namespace halfstep {
namespace {

void check_static(const Graph& graph) {
  for (const Value argument : graph.arguments()) {
    if (!argument.type().is_static())
      fail(errors::extents_not_known(fmt::format("graph '{}'", graph.name()), argument.name(),
                                     to_string(argument.type())));
  }
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) {
      if (!result.type().is_static() && op.info().flow == Flow::none)
        fail(errors::extents_not_known(op.where(), result.name(), to_string(result.type())));
    }
  }
}

/// An attribute in a small file can request huge extents. A value that exceeds the machine's memory is refused before a
/// kernel builds tables for it.
void check_sizes(const Graph& graph) {
  const size_t most = machine_memory() / sizeof(int64_t);
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) {
      if (!result.type().is_static()) continue;
      double count = 1;
      for (const int64_t extent : result.dims()) count *= static_cast<double>(extent);
      if (count > static_cast<double>(most))
        fail(errors::value_exceeds_memory(op.where(), result.name(), to_string(result.type()), most));
    }
  }
}

void check_contents(const Model& model) {
  for (const Value tensor : model.graph.tensors()) {
    const auto found = model.tensors.find(tensor.name());
    if (found == model.tensors.end() || found->second.type() != tensor.type()) {
      fail(errors::program_tensor_unfit(model.graph.name(), tensor.name(),
                                        found == model.tensors.end() ? "no contents" : to_string(found->second.type()),
                                        to_string(tensor.type())));
    }
  }
}

/// A frozen tensor needs no memory in the program if every kernel that reads it has packed it.
void find_read_tensors(runtime::ProgramSpec& spec) {
  for (runtime::TensorSpec& tensor : spec.tensors) tensor.read = !tensor.frozen;
  const auto read = [&](int slot) {
    if (slot < 0 || spec.slots[static_cast<size_t>(slot)].storage != runtime::Storage::tensor) return;
    spec.tensors[static_cast<size_t>(spec.slots[static_cast<size_t>(slot)].index)].read = true;
  };
  for (const runtime::Instruction& instruction : spec.instructions) {
    const std::vector<size_t>& packed = instruction.plan.packed;
    for (size_t i = 0; i < instruction.in.size(); ++i) {
      if (std::ranges::find(packed, i) == packed.end()) read(instruction.in[i].slot);
    }
    for (const runtime::Operand& result : instruction.out) read(result.slot);
  }
  for (const runtime::Port& output : spec.outputs) read(output.slot);
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

namespace compiler {

Unit compile_unit(Model& work, const CompileOptions& options, const Context& context) {
  outline_open(work.graph);
  check_static(work.graph);
  check_sizes(work.graph);
  check_contents(work);
  passes::settle_extents(work);
  if (options.optimize) optimize(work, options, context.on_codes);
  passes::verify_own("before lowering", work.graph);
  const std::vector<RegionUnits> regions = compile_regions(work, options, context);

  const auto frozen = frozen_tensors(work.graph, context.updated, options.freeze_tensors);
  Lowering lowering = lower(work.graph, place(work.graph, options), frozen, flows_of(regions));
  select_kernels(lowering, work, {options.level, context.one_order, context.runs});
  add_dependencies(lowering.spec);
  cut_parts(lowering.spec, options.later);
  plan_memory(lowering.spec, options.optimize && !contains(options.disabled_passes, kReuseMemory));
  reduce_order(lowering.spec);
  find_read_tensors(lowering.spec);

  Unit unit{std::make_shared<runtime::ProgramSpec>(std::move(lowering.spec)), {}};
  for (const runtime::TensorSpec& tensor : unit.spec->tensors) unit.contents.push_back(work.tensors.at(tensor.name));
  for (const RegionUnits& region : regions) adopt_tensors(unit, region);
  return unit;
}

namespace {

/// The storage of tensors is shared and only read.
Unit compile_whole(Model model, const CompileOptions& options, bool runs) {
  check_pass_names(options.disabled_passes);
  const bool one_order = options.one_order || (options.freeze_tensors && passes::computes_on_codes(model.graph));
  set_fetches(model.graph, options.fetch);
  const bool on_codes = std::ranges::any_of(model.graph.all_ops(), [](Op op) { return op.info().codes; });
  return compile_unit(model, options, {updated_tensors(model.graph), one_order, runs, on_codes});
}

}  // namespace
}  // namespace compiler

runtime::Program compile(Model model, const CompileOptions& options) {
  compiler::Unit unit = compiler::compile_whole(std::move(model), options, true);
  return {std::move(*unit.spec), std::move(unit.contents)};
}

runtime::ProgramSpec plan_program(Model model, const CompileOptions& options) {
  return std::move(*compiler::compile_whole(std::move(model), options, false).spec);
}

}  // namespace halfstep
