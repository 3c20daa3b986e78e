// Description of an operator. opgen generates every OpInfo from a record in ops/. No code lists operators by hand.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/shape.h"
#include "halfstep/core/ir/record_enums.h"

namespace halfstep {

/// An input or output of an operator.
struct PortInfo {
  std::string name;
  std::string type = {};    ///< allowed element types: "float", "u8 or i8"
  bool optional = false;    ///< the input may be omitted
  bool variadic = false;    ///< last input: any number of values; or output of an operator with regions
  int state_of = -1;        ///< output that is the next value of this input port; -1 for none
  std::string unless = {};  ///< condition over attributes that removes the port, as written in the record
};

/// An attribute of an operator.
struct AttributeInfo {
  std::string name;
  Attribute default_value;                ///< the type of the default is the type of the attribute
  bool required = false;                  ///< true: the attribute has no default
  std::vector<std::string> choices = {};  ///< allowed values of a string; empty: any
};

/// An operator application to be built or checked: complete attributes, and operand types by flat position (nullptr if
/// absent).
struct OpSite {
  std::string where;  ///< "digits.ir:12: node 'conv_3'", for messages
  const struct OpInfo& info;
  std::span<const Type* const> in;
  const Attributes& attributes;
};

/// Checks the presence of inputs, the rules of the record and the state pairs. Returns the type of each output port.
/// Types of absent ports must not be read. `shown` returns the text of an operand for messages, by flat position.
/// Throws Error.
std::vector<Type> check_site(const OpSite& site, const std::function<std::string(size_t)>& shown);

/// Types of an application: operands by flat position, results by port. nullptr if absent.
struct OpTypes {
  std::vector<const Type*> in, out;
};

/// Semantics of the gradient in an operator record.
enum class GradientKind {
  none,             ///< no gradient: a request for it is an error
  derivative,       ///< the true derivative, checked by finite differences
  straight_through  ///< a stated rule, checked against that rule
};

/// The record's `quant:` block. prepare and convert read these facts and never operator names.
struct QuantInfo {
  Trait trait = Trait::none;
  Accumulation accumulates = Accumulation::none;  ///< accumulation of operators without weights
  int weight = -1;                                ///< input port of the weight
  int weight_axis = 0;                            ///< axis of output channels in the weight
  int factor = -1;                                ///< input port of the factor of normalized elements
  int bias = -1;                                  ///< input port of the bias
  int fill = -1;           ///< input port of the fill value of empty positions; on codes the zero point
  int index = -1;          ///< input port of integer indices
  int magnitude = -1;      ///< input port of the largest magnitude, learned by another framework's quantizer
  std::string quantized;   ///< operator on codes for training
  std::string integer;     ///< operator of the integer program
  std::string activation;  ///< fuses_into_producer: name of the fused activation
  bool lookup = false;     ///< pointwise function that can become a table of codes
};

/// Name of this operator in another format.
struct ForeignInfo {
  std::string format;  ///< "paddle", "onnx"
  std::string op;
  std::vector<std::pair<std::string, std::string>> names;     ///< ours -> theirs, for ports and attributes
  std::vector<std::pair<std::string, int>> inputs = {};       ///< our port or attribute -> index of the foreign input
  std::vector<std::pair<std::string, Attribute>> fixed = {};  ///< ours -> value fixed for this foreign operator
  std::vector<std::pair<std::string, Attribute>> defaults = {};  ///< ours -> value if the foreign attribute is absent
  std::string domain = {};  ///< domain of the foreign operator; "" is the default domain of the format
  int64_t since = 1, until = std::numeric_limits<int64_t>::max();  ///< domain versions for which the entry holds
};

/// Properties of an operator, constant for the lifetime of the program.
struct OpInfo {
  std::string name;
  std::string doc;
  std::string record;  ///< location of the record: "ops/conv.yaml:12"
  std::vector<PortInfo> inputs, outputs;
  std::vector<std::string> regions;
  Flow flow = Flow::none;  ///< way in which the operator runs its regions
  std::vector<AttributeInfo> attributes;
  std::vector<bool (*)(const Attributes&)> input_present, output_present;  ///< nullptr: always
  /// Checks every rule and returns the type of each output port. Types of absent ports must not be read. Throws Error
  /// with the rule's label. For an operator with regions it checks the operands only, and the regions determine the
  /// types (core/ir/flow.h).
  std::vector<Type> (*infer)(const OpSite& site) = nullptr;
  /// Arithmetic operations of one application. A multiplication and an addition count as two. kUnknown if an extent is
  /// unknown. nullptr: one per element of the largest operand or result.
  int64_t (*flops)(const OpTypes& types) = nullptr;
  GradientKind gradient = GradientKind::none;
  bool elementwise =
      false;  ///< each result element depends only on the operand elements at its position; extents of 1 repeat
  /// C expression of one result element of a pointwise operator, on float32 variables with the names of the inputs.
  /// Attributes are written @NAME@. "" for other operators.
  std::string c_expression = {};
  bool codes = false;  ///< produces codes, computes on codes, or converts them to real values
  QuantInfo quant;
  std::vector<ForeignInfo> foreign;

  bool has_input(int port, const Attributes& attributes) const;
  bool has_output(int port, const Attributes& attributes) const;
  /// Returns " when is_test is true", the condition that removes the port, for messages.
  std::string absent_input_reason(int port, const Attributes& attributes) const;
  std::string absent_output_reason(int port, const Attributes& attributes) const;
  bool has_variadic_input() const { return !inputs.empty() && inputs.back().variadic; }
  /// Returns the port of a result. The one port of an operator with regions has any number of results.
  const PortInfo& output_at(int place) const {
    return outputs[std::min(static_cast<size_t>(place), outputs.size() - 1)];
  }
  int input(std::string_view name) const;   ///< port number, -1 when there is none
  int output(std::string_view name) const;  ///< port number, -1 when there is none
  const AttributeInfo* attribute(std::string_view name) const;
};

/// All operators, sorted by name.
std::span<const OpInfo> all_operators();

/// Returns nullptr for an unknown name.
const OpInfo* find_operator(std::string_view name);

/// Returns the operator `name`. Throws with a spelling suggestion if there is none. `where` starts the message.
const OpInfo& require_operator(std::string_view name, std::string_view where);

/// Returns the operator that `format` calls `foreign_name`, legacy spellings included. nullptr if there is none.
const OpInfo* find_foreign_operator(std::string_view format, std::string_view foreign_name);

/// Fills in defaults. Rejects unknown names, wrong types and values outside `choices`. An int is accepted for a float,
/// ints for floats, and an empty list for a list of any type.
Attributes complete_attributes(const OpInfo& info, Attributes given, std::string_view where);

}  // namespace halfstep
