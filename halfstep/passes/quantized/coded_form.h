// The operator on codes that replaces a float operator between quantizers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Operator that training runs in place of `main`, with `activation` (or null) fused into it.
struct CodedForm {
  const OpInfo* target;
  Attributes attributes;  ///< all of the float operators, without those of scales and codes from the quantizer
};
/// Throws unsupported if the target lacks an attribute of a float operator, because no attribute is ever dropped.
CodedForm coded_form(Op main, Op activation);

/// Returns the height and width that a global pool averages over. Operators on codes treat it as a pool of one window.
std::optional<std::vector<int64_t>> global_window(Op main);

/// Returns the operands of `target` by flat position from operands by port. Throws unsupported if an operand has no
/// port there.
std::vector<Value> arrange_operands(const OpInfo& target, const std::map<std::string, Value>& by_port,
                                    const std::string& where);

/// Throws unsupported, with the rule of its record, if the target rejects operands of these extents, lacks a port for
/// one of them or has a result of other extents.
void require_coded_form(Op main, Op activation);

}  // namespace halfstep::passes
