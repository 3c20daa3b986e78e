// The operator on codes that stands for a float operator between quantizers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// What training runs in place of `main`, with `activation` (null where there is none) fused into it.
struct CodedForm {
  const OpInfo* target;
  Attributes attributes;  ///< all that the float operators state; those of scales and codes come from the quantizer
};
/// Throws unsupported where an attribute of a float operator has no place in the target: none is ever dropped.
CodedForm coded_form(Op main, Op activation);

/// Height and width that a global pool averages over: to the operators on codes it is a pool of one window.
std::optional<std::vector<int64_t>> global_window(Op main);

/// Operands of `target` by flat position out of those by port; throws unsupported where one has no port there.
std::vector<Value> arrange_operands(const OpInfo& target, const std::map<std::string, Value>& by_port,
                                    const std::string& where);

/// Throws unsupported, with the rule of its record, where the target does not take operands of these extents, lacks a
/// port for one of them or gives a result of other extents.
void require_coded_form(Op main, Op activation);

}  // namespace halfstep::passes
