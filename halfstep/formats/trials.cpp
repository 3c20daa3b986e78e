#include "halfstep/formats/trials.h"

#include <algorithm>

#include "halfstep/base/status.h"
#include "halfstep/ir/op_info.h"

namespace halfstep::formats {

void Trials::add_argument(Value argument) {
  const Type& type = argument.type();
  if (type.is_static() || type.dims.front() != kUnknown) return;
  Types tried;
  for (size_t i = 0; i < kTries.size(); ++i) {
    tried[i] = type;
    tried[i].dims.front() = kTries[i];
    if (!tried[i].is_static()) return;
  }
  types_.emplace(argument.node(), std::move(tried));
}

void Trials::add(Op op) {
  const std::vector<Value> results = op.results();
  if (std::ranges::all_of(results, [](Value value) { return !value || value.type().is_static(); })) return;
  const std::vector<Value> operands = op.operands();
  std::vector<Types> known(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    const auto types = types_of(operands[i]);
    if (!types) return;
    known[i] = *types;
  }
  std::vector<Types> tried(op.info().outputs.size());
  for (size_t number = 0; number < kTries.size(); ++number) {
    std::vector<const Type*> in;
    for (size_t i = 0; i < operands.size(); ++i) in.push_back(operands[i] ? &known[i][number] : nullptr);
    try {
      const OpSite site{op.name(), op.info(), in, op.attributes()};
      const std::vector<Type> types = check_site(site, [](size_t) { return std::string(); });
      for (size_t port = 0; port < tried.size(); ++port) tried[port][number] = types[port];
    } catch (const Error&) {
      return;  // the record takes no such number
    }
  }
  for (const Value result : results) {
    if (result) types_.emplace(result.node(), tried[static_cast<size_t>(result.port())]);
  }
}

std::optional<Trials::Types> Trials::types_of(Value value) const {
  const auto found = types_.find(value.node());
  if (found != types_.end()) return found->second;
  if (!value.type().is_static()) return std::nullopt;
  Types same;
  same.fill(value.type());
  return same;
}

std::optional<Tried> Trials::extent(Value value, size_t axis) const {
  const auto types = types_of(value);
  if (!types) return std::nullopt;
  Tried tried;
  std::ranges::transform(*types, tried.begin(), [&](const Type& type) { return type.dims[axis]; });
  return tried;
}

std::optional<Tried> Trials::elements(Value value) const {
  const auto types = types_of(value);
  if (!types) return std::nullopt;
  Tried tried;
  std::ranges::transform(*types, tried.begin(), [](const Type& type) { return count_elements(type.dims); });
  return tried;
}

}  // namespace halfstep::formats
