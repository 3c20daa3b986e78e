// An operator as a Python callable.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// Defines the type of operators. Call it once.
void define_operator();

/// Makes the callable of an operator. Its arguments are one value for each input port (None: absent; a sequence for a
/// variadic port), then one for each attribute, in the record's order. It returns the result, or Results by name if the
/// record has several. Throws Error for an unknown name.
nb::object make_operator(const std::string& name);

/// Returns the attributes of a call that differ from their defaults. `given` is in the record's order.
nb::dict stated_attributes(const std::string& name, const nb::tuple& given);

/// Element type and extents. Empty for an absent operand.
using OperandType = std::optional<std::pair<std::string, std::vector<int64_t>>>;

/// Returns the types of a call's results: (element type, extents) by port, None if the attributes disable it.
nb::list operator_types(const std::string& name, const nb::dict& stated, const std::vector<OperandType>& operands);

/// Returns the number of a call's results. They are consecutive from the first port on.
size_t operator_results(const std::string& name, const nb::dict& stated);

/// Calls api::gradient for the operator. Operands are by flat position, attributes in the record's order, gradients of
/// results by port. Returns PyTorch tensors or None by operand.
nb::list operator_gradient(const std::string& name, const nb::list& operands, const nb::tuple& attributes,
                           const nb::dict& result_gradients, const std::vector<bool>& wanted);

}  // namespace halfstep::python
