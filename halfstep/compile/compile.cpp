#include "halfstep/compile/compile.h"

#include <algorithm>

#include "halfstep/base/system_memory.h"
#include "halfstep/compile/dependencies.h"
#include "halfstep/compile/fetch.h"
#include "halfstep/compile/lower.h"
#include "halfstep/compile/pack.h"
#include "halfstep/compile/parts.h"
#include "halfstep/compile/pipeline.h"
#include "halfstep/compile/placement.h"
#include "halfstep/compile/plan.h"
#include "halfstep/compile/select.h"
#include "halfstep/passes/run_pass.h"
#include "halfstep/passes/traits.h"

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

/// An attribute of a small file can ask for any extents: what no memory would hold is refused before a kernel makes
/// tables of it.
void check_sizes(const Graph& graph) {
  const size_t most = machine_memory() / sizeof(int64_t);
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) {
      double count = 1;
      for (const int64_t extent : result.dims()) count *= static_cast<double>(extent);
      if (count > static_cast<double>(most))
        unsupported("{}: {} is {}, and this machine has memory for values of {} elements", op.where(), result.name(),
                    to_string(result.type()), most);
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
  check_sizes(work.graph);
  check_contents(work);
  if (options.optimize) compiler::optimize(work, options);
  passes::verify_own("before lowering", work.graph);
  const bool one_order = options.one_order || (options.freeze_tensors && passes::computes_on_codes(model.graph));

  const auto frozen = compiler::frozen_tensors(work.graph, options.freeze_tensors);
  compiler::Lowering lowering = compiler::lower(work.graph, compiler::place(work.graph, options), frozen);
  compiler::select_kernels(lowering, work, options.level, one_order);
  compiler::add_dependencies(lowering.spec);
  compiler::cut_parts(lowering.spec, options.later);
  compiler::plan_memory(lowering.spec, options.optimize && !contains(options.disabled_passes, compiler::kReuseMemory));
  compiler::reduce_order(lowering.spec);

  std::vector<Tensor> contents;
  for (const runtime::TensorSpec& tensor : lowering.spec.tensors) contents.push_back(work.tensors.at(tensor.name));
  return {std::move(lowering.spec), contents};
}

}  // namespace halfstep
