// What the library knows of an operator. Every OpInfo is written by opgen from a record in ops/; nothing lists
// operators by hand.
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

struct PortInfo {
  std::string name;
  std::string type = {};    ///< the element types that it may have, "float", "u8 or i8"
  bool optional = false;    ///< an input that may be left out
  bool variadic = false;    ///< the last input, any number of values; the output of an operator with regions
  int state_of = -1;        ///< an output that is the next value of this input port; -1 for none
  std::string unless = {};  ///< the condition over attributes that takes it away, as the record says it
};

struct AttributeInfo {
  std::string name;
  Attribute default_value;                ///< its alternative is the attribute's type
  bool required = false;                  ///< has no default
  std::vector<std::string> choices = {};  ///< for strings: the allowed values; empty for any
};

/// An operator about to be built or checked: complete attributes, operand types by flat position (nullptr for an absent
/// one).
struct OpSite {
  std::string where;  ///< "digits.ir:12: node 'conv_3'", for messages
  const struct OpInfo& info;
  std::span<const Type* const> in;
  const Attributes& attributes;
};

/// The type of each output port (of absent ones too, unread), after every check: which inputs are there, the rules of
/// the record, the state pairs. `shown` says what stands at a flat position, for messages. Throws Error.
std::vector<Type> check_site(const OpSite& site, const std::function<std::string(size_t)>& shown);

/// Types of an application: operands by flat position, results by port; nullptr for an absent one.
struct OpTypes {
  std::vector<const Type*> in, out;
};

enum class GradientKind {
  none,             ///< no gradient; asking for one is an error
  derivative,       ///< the true derivative, checked by finite differences
  straight_through  ///< a stated rule, checked against that rule
};

/// The record's `quant:` block: facts that prepare and convert read, never operator names.
struct QuantInfo {
  Trait trait = Trait::none;
  Accumulation accumulates = Accumulation::none;  ///< without weights
  int weight = -1;                                ///< input port of the weight
  int weight_axis = 0;                            ///< axis of output channels in the weight
  int factor = -1;                                ///< input port of what normalized elements are multiplied by
  int bias = -1;                                  ///< input port of the bias
  int fill = -1;           ///< input port of what stands in empty places; on codes the zero point
  int index = -1;          ///< input port of whole numbers that say where elements lie
  int magnitude = -1;      ///< input port of the largest magnitude that another framework's quantizer learned
  std::string quantized;   ///< the operator on codes that training runs
  std::string integer;     ///< the operator that the integer program runs
  std::string activation;  ///< fuses_into_producer: name of the fused activation
  bool lookup = false;     ///< pointwise function that becomes a table of codes
};

/// A name by which another format knows this operator.
struct ForeignInfo {
  std::string format;  ///< "paddle", "onnx"
  std::string op;
  std::vector<std::pair<std::string, std::string>> names;     ///< ours -> theirs, for ports and attributes
  std::vector<std::pair<std::string, int>> inputs = {};       ///< ours, a port or attribute -> the foreign input it is
  std::vector<std::pair<std::string, Attribute>> fixed = {};  ///< ours -> its value for this foreign operator
  std::vector<std::pair<std::string, Attribute>> defaults = {};  ///< ours -> its value where the foreign one is absent
  std::string domain = {};                                       ///< of the foreign operator; "" is the format's own
  int64_t since = 1, until = std::numeric_limits<int64_t>::max();  ///< versions of the domain that it holds for
};

struct OpInfo {
  std::string name;
  std::string doc;
  std::string record;  ///< "ops/conv.yaml:12"
  std::vector<PortInfo> inputs, outputs;
  std::vector<std::string> regions;
  Flow flow = Flow::none;  ///< how it runs them
  std::vector<AttributeInfo> attributes;
  std::vector<bool (*)(const Attributes&)> input_present, output_present;  ///< nullptr: always
  /// Checks every rule and returns the type of each output port (of absent ones too, unread); throws Error with the
  /// rule's label. Of an operator with regions it checks the operands, and the regions say the types (core/ir/flow.h).
  std::vector<Type> (*infer)(const OpSite& site) = nullptr;
  /// Operations of one application, a multiplication and an addition being two; kUnknown where an extent is. nullptr:
  /// one for each element of the largest operand or result.
  int64_t (*flops)(const OpTypes& types) = nullptr;
  GradientKind gradient = GradientKind::none;
  bool elementwise =
      false;  ///< an element of the result depends on those at its own place alone, extents of 1 repeating
  /// Of a pointwise operator: an element of the result in C, of float32 numbers that are called as the inputs are;
  /// attributes are @NAME@. "" of any other.
  std::string c_expression = {};
  bool codes = false;  ///< makes codes, computes on them or makes reals of them
  QuantInfo quant;
  std::vector<ForeignInfo> foreign;

  bool has_input(int port, const Attributes& attributes) const;
  bool has_output(int port, const Attributes& attributes) const;
  /// " when is_test is true": what takes the port away, for messages.
  std::string absent_input_reason(int port, const Attributes& attributes) const;
  std::string absent_output_reason(int port, const Attributes& attributes) const;
  bool has_variadic_input() const { return !inputs.empty() && inputs.back().variadic; }
  /// The port of the result at a place: the one port of an operator with regions has any number of results.
  const PortInfo& output_at(int place) const {
    return outputs[std::min(static_cast<size_t>(place), outputs.size() - 1)];
  }
  int input(std::string_view name) const;   ///< port number, -1 when there is none
  int output(std::string_view name) const;  ///< port number, -1 when there is none
  const AttributeInfo* attribute(std::string_view name) const;
};

/// All operators in name order.
std::span<const OpInfo> all_operators();

/// nullptr when there is none of that name.
const OpInfo* find_operator(std::string_view name);

/// As find_operator, but throws with a suggestion; `where` starts the message.
const OpInfo& require_operator(std::string_view name, std::string_view where);

/// The operator that `format` calls `foreign_name` (legacy spellings included); nullptr when there is none.
const OpInfo* find_foreign_operator(std::string_view format, std::string_view foreign_name);

/// Fills defaults in, rejects unknown names, wrong types and values outside `choices`. An int is accepted for a float,
/// ints for floats, and an empty list for a list of any type.
Attributes complete_attributes(const OpInfo& info, Attributes given, std::string_view where);

}  // namespace halfstep
