// An operator as a Python callable.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// Makes the type of operators; once.
void define_operator();

/// Called with one value for each input port (None: absent; a sequence for a variadic port), then one for each
/// attribute, in the order of the record. Gives the result, or Results by name where the record has several. Throws
/// Error for an unknown name.
nb::object make_operator(const std::string& name);

/// The attributes of a call, given in the record's order, that are not what they are by default.
nb::dict stated_attributes(const std::string& name, const nb::tuple& given);

/// Element type and extents; nothing for an absent operand.
using OperandType = std::optional<std::pair<std::string, std::vector<int64_t>>>;

/// What a call would give: (element type, extents) by port, None where the attributes switch it off.
nb::list operator_types(const std::string& name, const nb::dict& stated, const std::vector<OperandType>& operands);

/// How many results a call gives, one behind the other from the first port on.
size_t operator_results(const std::string& name, const nb::dict& stated);

/// api::gradient of the operator: operands by flat position, attributes in the record's order, gradients of results by
/// port. A list by operand, of PyTorch's tensors and None.
nb::list operator_gradient(const std::string& name, const nb::list& operands, const nb::tuple& attributes,
                           const nb::dict& result_gradients, const std::vector<bool>& wanted);

}  // namespace halfstep::python
