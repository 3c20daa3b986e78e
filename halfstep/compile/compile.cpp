#include "halfstep/compile/compile.h"

#include <algorithm>

#include "halfstep/compile/dependencies.h"
#include "halfstep/compile/fetch.h"
#include "halfstep/compile/lower.h"
#include "halfstep/compile/pack.h"
#include "halfstep/compile/pipeline.h"
#include "halfstep/compile/placement.h"
#include "halfstep/compile/plan.h"
#include "halfstep/compile/select.h"

namespace halfstep {
namespace {

void check_static(const Graph& graph) {
  for (const Value argument : graph.arguments()) {
    if (!argument.type().is_static()) {
      fail("graph '{}': argument '{}' is {}, expected all extents known: specialize the model first", graph.name(),
           argument.name(), to_string(argument.type()));
    }
  }
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) {
      if (!result.type().is_static())
        fail("{}: {} is {}, expected all extents known: specialize the model first", op.where(), result.name(),
             to_string(result.type()));
    }
  }
}

void check_contents(const Model& model) {
  for (const Value tensor : model.graph.tensors()) {
    const auto found = model.tensors.find(tensor.name());
    if (found == model.tensors.end() || found->second.type() != tensor.type()) {
      fail("graph '{}': tensor '{}': found {}, expected {}", model.graph.name(), tensor.name(),
           found == model.tensors.end() ? "no contents" : to_string(found->second.type()), to_string(tensor.type()));
    }
  }
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

runtime::Program compile(const Model& model, const CompileOptions& options) {
  compiler::check_pass_names(options.disabled_passes);
  Model work = model;  // the tensors' storage is shared and only read
  compiler::set_fetches(work.graph, options.fetch);
  check_static(work.graph);
  check_contents(work);
  if (options.optimize) compiler::optimize(work, options);

  const auto frozen = compiler::frozen_tensors(work.graph, options.freeze_tensors);
  compiler::Lowering lowering = compiler::lower(work.graph, compiler::place(work.graph, options), frozen);
  compiler::select_kernels(lowering, work, options.level);
  compiler::add_dependencies(lowering.spec);
  compiler::plan_memory(lowering.spec, options.optimize && !contains(options.disabled_passes, compiler::kReuseMemory));
  compiler::reduce_order(lowering.spec);

  std::vector<Tensor> contents;
  for (const runtime::TensorSpec& tensor : lowering.spec.tensors) contents.push_back(work.tensors.at(tensor.name));
  return {std::move(lowering.spec), contents};
}

}  // namespace halfstep
