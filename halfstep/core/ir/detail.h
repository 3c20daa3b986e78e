// Helpers shared by the sources of the graph. Internal to this room.
#pragma once

#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::detail {

/// Operator at the end of every block: any number of inputs, no output. It is not in the table of operators.
const OpInfo& return_info();

/// Whether the operation produces the next value of the state that it reads at `operand`.
bool is_update(const OpNode& op, int operand);
void add_use(ValueNode* value, OpNode* op, int operand);
void drop_use(ValueNode* value, const OpNode* op, int operand);

/// Returns "digits.ir:12: node 'conv_3'".
std::string describe(const Location& location, const std::string& name);

/// Returns the readers of a value as "node 'a', node 'b'", at most a few of them.
std::string describe_users(const ValueNode& value);

/// Returns NAME for the first output port, NAME.PORT for others. For an operator with regions: NAME.PORT1, NAME.PORT2,
/// ...
std::string result_name(const OpInfo& info, const std::string& name, size_t port);

/// Returns `hint`, or the first of `hint.2`, `hint.3`, ... that is free for an operation and its results.
std::string free_name(const Graph& graph, const OpInfo& info, const std::string& hint);

/// Returns the types of the results, like halfstep::check_site, for operands that are values.
std::vector<Type> check_site(const OpInfo& info, std::span<ValueNode* const> operands, const Attributes& attributes,
                             const std::string& where);

/// Returns Op::where of an operation with a known path_to.
std::string where_at(const std::string& path, Op op);

/// Returns the types of an operation's results, after all checks of operands, attributes and regions.
std::vector<Type> result_types(Op op);

/// Equality of printed forms: a NaN equals a NaN, and 0.0 differs from -0.0.
bool same(const Attribute& a, const Attribute& b);
bool same(const Attributes& a, const Attributes& b);

/// Returns the result of `body`. Puts `prefix` before the message of an Error that it throws.
template <class Body>
auto with_prefix(const std::string& prefix, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw prefixed(prefix, error);
  }
}

}  // namespace halfstep::detail
