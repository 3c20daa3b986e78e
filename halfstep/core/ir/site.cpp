// Checks of one operation: presence of inputs, rules of its record, and state pairs.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/flow.h"

namespace halfstep {
namespace {

void check_presence(const OpSite& site, const std::function<std::string(size_t)>& shown) {
  const OpInfo& info = site.info;
  const size_t ports = info.inputs.size();
  if (site.in.size() > ports && !info.has_variadic_input())
    fail(errors::operand_count(site.where, info.name, site.in.size(), fmt::format("at most {}", ports)));
  for (size_t i = 0; i < std::max(ports, site.in.size()); ++i) {
    const size_t port = std::min(i, ports - 1);
    const PortInfo& input = info.inputs[port];
    const bool given = i < site.in.size() && site.in[i] != nullptr;
    if (i >= site.in.size() && input.variadic && info.flow != Flow::none) continue;  // no captured values
    if (!info.has_input(static_cast<int>(port), site.attributes)) {
      if (given)
        fail(errors::input_not_taken(site.where, info.name, input.name,
                                     info.absent_input_reason(static_cast<int>(port), site.attributes), shown(i)));
    } else if (!given && (!input.optional || i >= ports)) {
      fail(errors::operand_missing(site.where, info.name, input.name));
    }
  }
}

void check_state_pairs(const OpSite& site, const std::vector<Type>& results) {
  for (size_t port = 0; port < results.size(); ++port) {
    const PortInfo& output = site.info.outputs[port];
    if (output.state_of < 0 || !site.info.has_output(static_cast<int>(port), site.attributes)) continue;
    const auto input = static_cast<size_t>(output.state_of);
    if (input >= site.in.size() || site.in[input] == nullptr || *site.in[input] == results[port]) continue;
    fail(errors::state_type(site.where, site.info.name, output.name, to_string(results[port]),
                            to_string(*site.in[input]), site.info.inputs[input].name));
  }
}

}  // namespace

std::vector<Type> check_site(const OpSite& site, const std::function<std::string(size_t)>& shown) {
  check_presence(site, shown);
  if (site.info.infer == nullptr) return {};
  std::vector<Type> results = site.info.infer(site);
  if (site.info.flow != Flow::none) return {};  // the regions determine the types
  HS_CHECK(results.size() == site.info.outputs.size());
  check_state_pairs(site, results);
  return results;
}

std::vector<Type> detail::result_types(Op op) {
  const auto checked = [op](const std::string& where) {
    return check_site(op.info(), op.node()->operands, op.attributes(), where);
  };
  std::vector<Type> types;
  try {
    types = checked("");
  } catch (const Error&) {
    checked(op.where());  // message only: for deeply nested operations the path is long
    throw;
  }
  return op.info().flow == Flow::none ? types : flow_results(op);
}

std::vector<Type> detail::check_site(const OpInfo& info, std::span<ValueNode* const> operands,
                                     const Attributes& attributes, const std::string& where) {
  std::vector<const Type*> types;
  for (const ValueNode* operand : operands) types.push_back(operand == nullptr ? nullptr : &operand->type);
  return halfstep::check_site({where, info, types, attributes},
                              [operands](size_t i) { return "'" + operands[i]->name + "'"; });
}

}  // namespace halfstep
