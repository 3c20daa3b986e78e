// What the files of the graph share; nothing outside this room includes it.
#pragma once

#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep::detail {

/// The operator of every block's end: any number of inputs, no output. Not in the table of operators.
const OpInfo& return_info();

/// Whether the operation gives the next value of what it reads there.
bool is_update(const OpNode& op, int operand);
void add_use(ValueNode* value, OpNode* op, int operand);
void drop_use(ValueNode* value, const OpNode* op, int operand);

/// "digits.ir:12: node 'conv_3'".
std::string describe(const Location& location, const std::string& name);

/// "node 'a', node 'b'": the readers of a value, at most a few of them.
std::string describe_users(const ValueNode& value);

/// NAME for the first output port, NAME.PORT for any other; of an operator with regions NAME.PORT1, NAME.PORT2, ...
std::string result_name(const OpInfo& info, const std::string& name, size_t port);

/// `hint`, or the first of `hint.2`, `hint.3`, ... that an operation and its results can be called.
std::string free_name(const Graph& graph, const OpInfo& info, const std::string& hint);

/// halfstep::check_site for values.
std::vector<Type> check_site(const OpInfo& info, std::span<ValueNode* const> operands, const Attributes& attributes,
                             const std::string& where);

/// Op::where of an operation whose path_to is known.
std::string where_at(const std::string& path, Op op);

/// The types of an operation's results, after every check of operands, attributes and regions.
std::vector<Type> result_types(Op op);

/// Equal, where a NaN equals a NaN and 0.0 differs from -0.0: what prints alike is alike.
bool same(const Attribute& a, const Attribute& b);
bool same(const Attributes& a, const Attributes& b);

/// What `body` returns; an Error that leaves it starts with `prefix`.
template <class Body>
auto with_prefix(const std::string& prefix, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw prefixed(prefix, error);
  }
}

}  // namespace halfstep::detail
