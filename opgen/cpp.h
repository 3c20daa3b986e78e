// Spelling things in C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/dtype.h"

namespace halfstep::opgen {

/// "conv2d_grad_x" -> "Conv2dGradX"
std::string pascal_case(std::string_view name);

/// The name, with an underscore behind it where it is a keyword or used by the generated code itself.
std::string cpp_name(const std::string& name);

/// A string literal.
std::string string_literal(std::string_view text);

/// The shortest literal of that double: "0.9", "6.0", "std::numeric_limits<double>::infinity()".
std::string double_cpp(double value);

std::string bool_cpp(bool value);

/// "DType::f32"
std::string dtype_cpp(DType dtype);

/// The C++ type that an attribute is held as: "int64_t", "std::vector<double>".
std::string_view attribute_type_cpp(const Attribute& value);

/// As parameters and results are spelled: "int64_t", "const std::vector<double>&".
std::string attribute_reference_cpp(const Attribute& value);

/// An expression of exactly that C++ type: "int64_t{1}", "std::vector<int64_t>{1, 1}".
std::string attribute_cpp(const Attribute& value);

/// As an initializer: "1", "{1, 1}".
std::string initializer_cpp(const Attribute& value);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// First line of every generated file, naming what it comes from.
std::string generated_by(std::string_view what);

}  // namespace halfstep::opgen
