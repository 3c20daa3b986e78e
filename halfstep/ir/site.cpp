// Checks of one operation: which inputs are there, the rules of its record, and its state pairs.
#include <algorithm>

#include "halfstep/ir/detail.h"

namespace halfstep::detail {
namespace {

void check_presence(const OpInfo& info, std::span<ValueNode* const> operands, const Attributes& attributes,
                    const std::string& where) {
  const size_t ports = info.inputs.size();
  if (operands.size() > ports && !info.has_variadic_input())
    fail("{}: {}: found {} inputs, expected at most {}", where, info.name, operands.size(), ports);
  for (size_t i = 0; i < std::max(ports, operands.size()); ++i) {
    const size_t port = std::min(i, ports - 1);
    const PortInfo& input = info.inputs[port];
    const bool given = i < operands.size() && operands[i] != nullptr;
    if (!info.has_input(static_cast<int>(port), attributes)) {
      if (given) {
        fail("{}: {}: input '{}' is not taken{}, found '{}'", where, info.name, input.name,
             info.absent_input_reason(static_cast<int>(port), attributes), operands[i]->name);
      }
    } else if (!given && (!input.optional || i >= ports)) {
      fail("{}: {}: input '{}' is missing", where, info.name, input.name);
    }
  }
}

void check_state_pairs(const OpSite& site, const std::vector<Type>& results) {
  for (size_t port = 0; port < results.size(); ++port) {
    const PortInfo& output = site.info.outputs[port];
    if (output.state_of < 0 || !site.info.has_output(static_cast<int>(port), site.attributes)) continue;
    const auto input = static_cast<size_t>(output.state_of);
    if (input >= site.in.size() || site.in[input] == nullptr || *site.in[input] == results[port]) continue;
    fail("{}: {} type: state '{}' is {}, expected {} as '{}'", site.where, site.info.name, output.name,
         to_string(results[port]), to_string(*site.in[input]), site.info.inputs[input].name);
  }
}

}  // namespace

std::vector<Type> check_site(const OpInfo& info, std::span<ValueNode* const> operands, const Attributes& attributes,
                             const std::string& where) {
  check_presence(info, operands, attributes, where);
  std::vector<const Type*> types;
  for (const ValueNode* operand : operands) types.push_back(operand == nullptr ? nullptr : &operand->type);
  if (info.infer == nullptr) return {};
  const OpSite site{where, info, types, attributes};
  std::vector<Type> results = info.infer(site);
  HS_CHECK(results.size() == info.outputs.size());
  check_state_pairs(site, results);
  return results;
}

}  // namespace halfstep::detail
