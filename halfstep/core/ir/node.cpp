#include <algorithm>

#include "halfstep/core/ir/detail.h"

namespace halfstep::detail {

const OpInfo& return_info() {
  static const OpInfo kInfo = [] {
    OpInfo made;
    made.name = "return";
    made.inputs = {PortInfo{.name = "values", .optional = true, .variadic = true}};
    return made;
  }();
  return kInfo;
}

bool is_update(const OpNode& op, int operand) {
  return std::ranges::any_of(op.info->outputs, [&](const PortInfo& output) { return output.state_of == operand; });
}

void add_use(ValueNode* value, OpNode* op, int operand) {
  if (value == nullptr) return;
  value->uses.push_back({op, operand});
  if (is_update(*op, operand)) ++value->updates;
}

void drop_use(ValueNode* value, const OpNode* op, int operand) {
  if (value == nullptr) return;
  const auto found = std::find_if(value->uses.begin(), value->uses.end(),
                                  [&](const Use& use) { return use.op == op && use.operand == operand; });
  HS_CHECK(found != value->uses.end());
  value->uses.erase(found);
  if (is_update(*op, operand)) --value->updates;
}

std::string describe(const Location& location, const std::string& name) {
  const std::string place = to_string(location);
  return fmt::format("{}{}node '{}'", place, place.empty() ? "" : ": ", name);
}

std::string describe_users(const ValueNode& value) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(value.uses.size(), kMost); ++i)
    text += fmt::format("{}node '{}'", i > 0 ? ", " : "", value.uses[i].op->name);
  if (value.uses.size() > kMost) text += fmt::format(" and {} more", value.uses.size() - kMost);
  return text;
}

std::string result_name(const OpInfo& info, const std::string& name, size_t port) {
  if (port == 0) return name;
  const std::string number = info.outputs.back().variadic ? std::to_string(port) : "";
  return name + "." + info.output_at(static_cast<int>(port)).name + number;
}

}  // namespace halfstep::detail
