// Spelling things in Python.
#pragma once

#include <string>
#include <string_view>

#include "opgen/record.h"

namespace halfstep::opgen {

/// The name, with an underscore behind it where it is a keyword.
std::string python_name(const std::string& name);

/// A literal: True, 0.1, (1, 1), "half_even".
std::string python_value(const Attribute& value);

/// As an annotation: "bool", "Sequence[int]"; Literal["u8", "i8"] where there are choices.
std::string python_type(const AttributeSpec& spec);

/// The parameters of the operator's function, as between the parentheses of its definition: operands by position or
/// keyword, attributes by keyword. With `first`, the type of the first operand, they are annotated for a stub.
std::string python_parameters(const Record& record, const std::string& first = "");

/// The lines of the docstring, without quotes and indentation.
std::string python_doc(const Record& record);

/// The class of an operator with several results in the stubs.
std::string python_results_class(const Record& record);

/// Lines of at most `width` columns, each after `indent`; continuation lines are indented further.
std::string wrapped(std::string_view text, const std::string& indent, size_t width);

}  // namespace halfstep::opgen
