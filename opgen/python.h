// Names and values in Python syntax.
#pragma once

#include <string>
#include <string_view>

#include "opgen/record.h"

namespace halfstep::opgen {

/// Returns the name, with an underscore appended if it is a keyword.
std::string python_name(const std::string& name);

/// Returns a literal: True, 0.1, (1, 1), "half_even".
std::string python_value(const Attribute& value);

/// Returns an annotation: "bool", "Sequence[int]", or Literal["u8", "i8"] for choices.
std::string python_type(const AttributeSpec& spec);

/// Returns the parameter list of the operator's function: operands by position or keyword, attributes by keyword. With
/// `first`, the type of the first operand, it has annotations for a stub.
std::string python_parameters(const Record& record, const std::string& first = "");

/// Returns the docstring without quotes and indentation.
std::string python_doc(const Record& record);

/// Returns the stub class for the results of an operator with several results.
std::string python_results_class(const Record& record);

/// Wraps text to lines of at most `width` columns, each after `indent`. Continuation lines are indented further.
std::string wrapped(std::string_view text, const std::string& indent, size_t width);

}  // namespace halfstep::opgen
