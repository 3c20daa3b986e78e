#include "halfstep/engine/compile/region_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/compile/pack.h"

namespace halfstep::compiler {
namespace {

using runtime::FlowSpec;

FlowSpec::Kind kind_of(Flow flow) {
  switch (flow) {
    case Flow::loop: return FlowSpec::Kind::loop;
    case Flow::scan: return FlowSpec::Kind::scan;
    case Flow::backward: return FlowSpec::Kind::backward;
    default: return FlowSpec::Kind::branch;
  }
}

/// Options for a region: it is fed and fetched on the host, in one part.
CompileOptions inner_options(const CompileOptions& options) {
  CompileOptions inner = options;
  inner.input_places.clear();
  inner.output_places.clear();
  inner.later.clear();
  inner.fetch.clear();
  return inner;
}

bool is_open(const Block& region) {
  return std::ranges::any_of(region.arguments(), [](Value argument) { return !argument.type().is_static(); });
}

/// Compiles the region for arguments of these types.
Unit compile_later(const Model& region, const std::vector<Type>& types, const CompileOptions& options,
                   const Context& context) {
  std::map<std::string, Dims> dims;
  for (size_t i = 0; i < types.size(); ++i) dims.emplace(region.graph.arguments()[i].name(), types[i].dims);
  Model work = specialize(region, dims);
  return compile_unit(work, options, context);
}

/// The tensors of `region` that may be updated anywhere in the whole program. They belong to the whole program.
std::vector<std::pair<runtime::TensorSpec, Tensor>> shared_tensors(const Model& region, const CompileOptions& options,
                                                                   const Context& context) {
  const auto frozen = frozen_tensors(region.graph, context.updated, options.freeze_tensors);
  std::vector<std::pair<runtime::TensorSpec, Tensor>> shared;
  for (const Value tensor : region.graph.tensors()) {
    if (!frozen.contains(tensor.name()))
      shared.emplace_back(runtime::TensorSpec{tensor.name(), tensor.type(), options.place, false},
                          region.tensors.at(tensor.name()));
  }
  return shared;
}

RegionUnits compile_regions_of(Op op, const Model& work, const CompileOptions& options, const Context& context) {
  const FlowParts parts(op);
  RegionUnits units{op.name(), std::make_shared<FlowSpec>(), {}, {}};
  units.flow->kind = kind_of(op.info().flow);
  units.flow->states = parts.states;
  units.flow->scanned = parts.scanned;
  units.flow->carried = parts.carried;
  units.flow->rows = parts.rows;
  units.flow->watch = options.watch_iterations;
  units.flow->watch_region = options.watch_regions;
  if (op.info().attribute("at_most") != nullptr) units.flow->at_most = get<int64_t>(op.attributes(), "at_most");
  for (size_t r = 0; r < op.regions().size(); ++r) {
    Model region = region_model(work, *op.regions()[r], fmt::format("{}.{}", op.name(), op.info().regions[r]));
    runtime::RegionSpec& spec = units.flow->regions.emplace_back();
    for (const Value argument : op.regions()[r]->arguments()) spec.arguments.push_back(argument.name());
    if (is_open(*op.regions()[r])) {
      const auto shared = shared_tensors(region, options, context);
      units.shared.insert(units.shared.end(), shared.begin(), shared.end());
      units.contents.emplace_back();
      spec.compile = [region, options, context](const std::vector<Type>& types) {
        return compile_later(region, types, options, context);
      };
    } else {
      Unit unit = compile_unit(region, options, context);
      spec.program = std::move(unit.spec);
      units.contents.push_back(std::move(unit.contents));
    }
  }
  return units;
}

int shared_tensor(Unit& whole, const runtime::TensorSpec& tensor, const Tensor& contents) {
  for (size_t i = 0; i < whole.spec->tensors.size(); ++i) {
    runtime::TensorSpec& other = whole.spec->tensors[i];
    if (other.frozen != tensor.frozen) continue;
    const bool is_same = tensor.frozen ? whole.contents[i].shares_contents(contents) : other.name == tensor.name;
    if (is_same && other.place != tensor.place && !tensor.frozen)
      fail(errors::tensor_updated_elsewhere(whole.spec->name, tensor.name, to_string(other.place),
                                            to_string(tensor.place)));
    if (!is_same || other.place != tensor.place || other.type != tensor.type) continue;
    other.read |= tensor.read;
    return static_cast<int>(i);
  }
  whole.spec->tensors.push_back(tensor);
  whole.contents.push_back(contents);
  return static_cast<int>(whole.spec->tensors.size()) - 1;
}

void renumber_tensors(runtime::ProgramSpec& spec, const std::vector<int>& numbers) {
  for (runtime::Slot& slot : spec.slots) {
    if (slot.storage == runtime::Storage::tensor) slot.index = numbers[static_cast<size_t>(slot.index)];
  }
  for (const runtime::Instruction& instruction : spec.instructions) {
    if (instruction.flow == nullptr) continue;
    for (const runtime::RegionSpec& region : instruction.flow->regions) {
      if (region.program != nullptr) renumber_tensors(*region.program, numbers);
    }
  }
}

}  // namespace

std::vector<RegionUnits> compile_regions(const Model& work, const CompileOptions& options, const Context& context) {
  const CompileOptions inner = inner_options(options);
  std::vector<RegionUnits> all;
  for (const Op op : work.graph.ops()) {
    if (op.info().flow != Flow::none) all.push_back(compile_regions_of(op, work, inner, context));
  }
  return all;
}

Flows flows_of(const std::vector<RegionUnits>& regions) {
  Flows flows;
  for (const RegionUnits& units : regions) flows.emplace(units.op, units.flow);
  return flows;
}

void adopt_tensors(Unit& unit, const RegionUnits& regions) {
  for (const auto& [tensor, contents] : regions.shared) shared_tensor(unit, tensor, contents);
  for (size_t r = 0; r < regions.contents.size(); ++r) {
    if (regions.flow->regions[r].program == nullptr) continue;
    runtime::ProgramSpec& region = *regions.flow->regions[r].program;
    std::vector<int> numbers;
    for (size_t i = 0; i < region.tensors.size(); ++i)
      numbers.push_back(shared_tensor(unit, region.tensors[i], regions.contents[r][i]));
    renumber_tensors(region, numbers);
    region.tensors.clear();
  }
}

}  // namespace halfstep::compiler
