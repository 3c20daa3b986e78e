#include "halfstep/core/ir/flow.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

/// Throws the error of `entry`, whose first values are the place and the operator.
template <class Entry, class... Values>
[[noreturn]] void reject(Op op, Entry entry, const Values&... values) {
  fail(entry(op.where(), op.info().name, values...));
}

size_t count_of(Op op, const char* attribute) {
  if (op.info().attribute(attribute) == nullptr) return 0;
  const int64_t count = get<int64_t>(op.attributes(), attribute);
  if (count < 0) reject(op, errors::attribute_out_of_range, attribute, count, "at least 0");
  return static_cast<size_t>(count);
}

Type operand_type(Op op, size_t position) { return op.operands()[position].type(); }

/// Returns `type` without its first extent. `name` is the name of the value.
Type element_of(Op op, const Type& type, const std::string& name) {
  if (type.dims.empty()) reject(op, errors::scan_extent, name, "no axis", "an axis to scan");
  return {type.dtype, Dims(type.dims.begin() + 1, type.dims.end())};
}

Type stacked(const Type& element, int64_t count) {
  Type type = element;
  type.dims.insert(type.dims.begin(), count);
  return type;
}

bool same_kind(const Type& a, const Type& b) { return a.dtype == b.dtype && a.dims.size() == b.dims.size(); }

/// Joins two types of the same kind. Differing extents become unknown.
Type joined(const Type& a, const Type& b) {
  Type type = a;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (a.dims[i] != b.dims[i]) type.dims[i] = kUnknown;
  }
  return type;
}

/// Whether a place of type `place` accepts a value of type `value`. An unknown extent accepts any extent.
bool takes(const Type& place, const Type& value) {
  return same_kind(place, value) && std::equal(place.dims.begin(), place.dims.end(), value.dims.begin(),
                                               [](int64_t p, int64_t v) { return p == v || p == kUnknown; });
}

bool is_condition(const Type& type) {
  return type.dtype == DType::boolean && (!type.is_static() || count_elements(type.dims) == 1);
}

void check_condition(Op op, Value value) {
  if (!is_condition(value.type())) reject(op, errors::condition_type, value.name(), to_string(value.type()));
}

/// Whether each iteration takes one element of the value instead of the whole value.
bool has_elements(const FlowParts& parts, size_t value) {
  return (value >= parts.states && value < parts.states + parts.scanned) || value >= parts.taken() + parts.carried;
}

/// Number of values that a region takes: all of them, except for `step` of a backward.
size_t taken_by(Op op, size_t region, const FlowParts& parts) {
  return op.info().flow == Flow::backward && region == 0 ? parts.taken() : parts.values();
}

/// Types of region arguments that follow from the operands. Types of loop states are only initial types.
std::vector<Type> argument_types(Op op, const FlowParts& parts, size_t count) {
  std::vector<Type> types;
  for (size_t i = 0; i < count; ++i) {
    const Value operand = op.operands()[parts.first + i];
    types.push_back(has_elements(parts, i) ? element_of(op, operand.type(), operand.name()) : operand.type());
  }
  return types;
}

void check_arguments(Op op, size_t r, const FlowParts& parts) {
  const Block& region = *op.regions()[r];
  const std::string& name = op.info().regions[r];
  const std::vector<Type> expected = argument_types(op, parts, taken_by(op, r, parts));
  const std::vector<Value>& arguments = region.arguments();
  if (arguments.size() != expected.size())
    reject(op, errors::region_values, "arguments of region " + name, arguments.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!takes(arguments[i].type(), expected[i]))
      reject(op, errors::region_type, "'" + arguments[i].name() + "'", to_string(arguments[i].type()),
             fmt::format("{} as '{}'", to_string(expected[i]), op.operands()[parts.first + i].name()));
  }
}

/// Values passed from one run of a region to the next: arguments from `first` on, and outputs after the conditions.
struct Handed {
  size_t region, first, count, conditions;
  const char* name;
};

Handed states_of(const FlowParts& parts) { return {0, 0, parts.states, parts.conditions, "state"}; }
Handed carried_of(const FlowParts& parts) { return {1, parts.taken(), parts.carried, 0, "carried value"}; }

/// Returns the region's outputs after its conditions. Checks that the next iteration accepts the values passed on.
std::vector<Value> iteration_outputs(Op op, const Handed& handed) {
  const Block& region = *op.regions()[handed.region];
  std::vector<Value> outputs = region.outputs();
  if (outputs.size() < handed.conditions + handed.count)
    reject(op, errors::region_values, "outputs of region " + op.info().regions[handed.region], outputs.size(),
           fmt::format("at least {}: {}the {}s", handed.conditions + handed.count,
                       handed.conditions > 0 ? "the condition and " : "", handed.name));
  if (handed.conditions > 0) check_condition(op, outputs[0]);
  outputs.erase(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(handed.conditions));
  for (size_t i = 0; i < handed.count; ++i) {
    const Value place = region.arguments()[handed.first + i];
    if (!takes(place.type(), outputs[i].type()))
      reject(op, errors::region_type, fmt::format("output '{}' of an iteration", outputs[i].name()),
             to_string(outputs[i].type()),
             fmt::format("{} as the {} '{}'", to_string(place.type()), handed.name, place.name()));
  }
  return outputs;
}

/// Returns the extent of the first axis of all scanned values, which must agree.
int64_t iteration_count(Op op, const FlowParts& parts) {
  int64_t length = kUnknown;
  for (size_t i = 0; i < parts.values(); ++i) {
    if (!has_elements(parts, i)) continue;
    const int64_t extent = operand_type(op, parts.first + i).dims.at(0);
    if (length != kUnknown && extent != kUnknown && extent != length)
      reject(op, errors::scan_extent, op.operands()[parts.first + i].name(), fmt::format("{} elements", extent),
             fmt::format("{} as the values before it", length));
    if (extent != kUnknown) length = extent;
  }
  return length;
}

std::vector<Type> iterated_results(Op op, const FlowParts& parts, const Handed& handed) {
  const std::vector<Value> outputs = iteration_outputs(op, handed);
  const std::vector<Value>& arguments = op.regions()[handed.region]->arguments();
  const int64_t count = iteration_count(op, parts);
  std::vector<Type> types;
  for (size_t i = 0; i < outputs.size(); ++i)
    types.push_back(i < handed.count ? arguments[handed.first + i].type() : stacked(outputs[i].type(), count));
  return types;
}

std::vector<Type> backward_results(Op op, const FlowParts& parts) {
  const size_t given = iteration_outputs(op, states_of(parts)).size();
  if (given != parts.states)
    reject(op, errors::region_values, "outputs of region step after its condition", given,
           fmt::format("{}, the states", parts.states));
  return iterated_results(op, parts, carried_of(parts));
}

std::vector<Type> joined_results(Op op) {
  std::vector<Type> types;
  for (const Value output : op.regions()[0]->outputs()) types.push_back(output.type());
  for (size_t r = 1; r < op.regions().size(); ++r) {
    const std::vector<Value> outputs = op.regions()[r]->outputs();
    const std::string& name = op.info().regions[r];
    if (outputs.size() != types.size())
      reject(op, errors::region_values, "outputs of region " + name, outputs.size(),
             fmt::format("{} as region {}", types.size(), op.info().regions[0]));
    for (size_t i = 0; i < types.size(); ++i) {
      if (!same_kind(types[i], outputs[i].type()))
        reject(op, errors::region_type, fmt::format("output '{}' of region {}", outputs[i].name(), name),
               to_string(outputs[i].type()), fmt::format("{} as region {}", to_string(types[i]), op.info().regions[0]));
      types[i] = joined(types[i], outputs[i].type());
    }
  }
  return types;
}

void infer_inside(Op op, bool widens);

/// `widens`: argument types are now wider than in the last inference.
void infer_block(const Block& block, bool widens) {
  for (const Op op : block.ops()) {
    if (op.info().flow == Flow::none) {
      op.infer();
    } else {
      infer_inside(op, widens);
      op.close_regions();
    }
  }
}

/// Infers types up to a fixed point. The types of passed-on values are joined with the types that an iteration
/// produces. Extents only change to unknown, so the number of rounds is at most the number of extents. Inner regions
/// continue from the types of the last round, because wider arguments never make a type narrower. Restarting them would
/// double the rounds at each nesting level.
void settle(const Block& region, const Handed& handed, std::vector<Type> types, bool widens) {
  for (size_t i = handed.first; i < handed.first + handed.count && widens; ++i) {
    const Type& before = region.arguments()[i].type();
    if (same_kind(types[i], before)) types[i] = joined(types[i], before);
  }
  for (bool changed = true; changed; widens = true) {
    for (size_t i = 0; i < types.size(); ++i) region.graph().set_type(region.arguments()[i], types[i]);
    infer_block(region, widens);
    changed = false;
    const std::vector<Value> outputs = region.outputs();
    for (size_t i = 0; i < handed.count && handed.conditions + i < outputs.size(); ++i) {
      Type& type = types[handed.first + i];
      const Type& made = outputs[handed.conditions + i].type();
      if (!same_kind(type, made) || takes(type, made)) continue;
      type = joined(type, made);
      changed = true;
    }
  }
}

void infer_inside(Op op, bool widens) {
  const FlowParts parts(op);
  for (size_t r = 0; r < op.regions().size(); ++r) {
    const Block& region = *op.regions()[r];
    std::vector<Type> types = argument_types(op, parts, taken_by(op, r, parts));
    if (region.arguments().size() != types.size()) continue;
    const bool is_back = op.info().flow == Flow::backward && r == 1;
    for (size_t i = 0; is_back && i < parts.states; ++i) types[i] = op.regions()[0]->arguments()[i].type();
    settle(region, is_back ? carried_of(parts) : states_of(parts), std::move(types), widens);
  }
}

}  // namespace

FlowParts::FlowParts(Op op)
    : first(op.info().inputs.size() - (op.info().has_variadic_input() ? 1 : 0)),
      states(count_of(op, "states")),
      scanned(count_of(op, "scanned")),
      carried(count_of(op, "carried")),
      rows(count_of(op, "rows")),
      conditions(op.info().flow == Flow::loop || (op.info().flow == Flow::backward && op.in(0)) ? 1 : 0) {
  const size_t values = op.operands().size() - first, placed = states + scanned + carried + rows;
  if (placed > values)
    reject(op, errors::loop_operands, values,
           fmt::format("at least {}: {} states and {} scanned{}", placed, states, scanned,
                       carried + rows > 0 ? fmt::format(", {} carried and {} rows", carried, rows) : ""));
  const bool is_counted = op.info().flow == Flow::scan || (op.info().flow == Flow::backward && conditions == 0);
  if (is_counted && scanned == 0) reject(op, errors::loop_operands, "no scanned", "at least one to scan");
  captured = values - placed;
}

std::vector<Type> flow_results(Op op) {
  const FlowParts parts(op);
  if (parts.first > 0 && op.in(0)) check_condition(op, op.in(0));
  if (op.regions().size() != op.info().regions.size())
    reject(op, errors::region_count, op.regions().size(), op.info().regions.size());
  for (size_t r = 0; r < op.regions().size(); ++r) check_arguments(op, r, parts);
  if (op.info().flow == Flow::backward) return backward_results(op, parts);
  const bool iterates = op.info().flow == Flow::loop || op.info().flow == Flow::scan;
  return iterates ? iterated_results(op, parts, states_of(parts)) : joined_results(op);
}

void infer_regions(Op op) { infer_inside(op, false); }

std::string holders_of(Op op) {
  std::vector<std::string> holders;
  for (Op around = op.node()->block->parent(); around; around = around.node()->block->parent())
    holders.push_back(fmt::format("{} '{}'", around.info().name, around.name()));
  std::ranges::reverse(holders);
  return fmt::format("{}", fmt::join(holders, ": "));
}

std::string path_to(Op op) {
  const std::string holders = holders_of(op);
  return holders.empty() ? "" : holders + ": ";
}

}  // namespace halfstep
