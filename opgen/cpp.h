// Names and values in C++ syntax.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/dtype.h"

namespace halfstep::opgen {

/// Converts "conv2d_grad_x" to "Conv2dGradX".
std::string pascal_case(std::string_view name);

/// Returns the name, with an underscore appended if it is a keyword or used by generated code.
std::string cpp_name(const std::string& name);

/// Returns a string literal.
std::string string_literal(std::string_view text);

/// Returns the shortest literal of a double: "0.9", "6.0", "std::numeric_limits<double>::infinity()".
std::string double_cpp(double value);

std::string bool_cpp(bool value);

/// Returns "DType::f32".
std::string dtype_cpp(DType dtype);

/// Returns the C++ type that stores an attribute: "int64_t", "std::vector<double>".
std::string_view attribute_type_cpp(const Attribute& value);

/// Returns the C++ type of parameters and results: "int64_t", "const std::vector<double>&".
std::string attribute_reference_cpp(const Attribute& value);

/// Returns an expression of exactly this C++ type: "int64_t{1}", "std::vector<int64_t>{1, 1}".
std::string attribute_cpp(const Attribute& value);

/// Returns an initializer: "1", "{1, 1}".
std::string initializer_cpp(const Attribute& value);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Returns the first line of every generated file, which names its source.
std::string generated_by(std::string_view what);

}  // namespace halfstep::opgen
