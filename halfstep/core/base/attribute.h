// Values of operator attributes. The set of types is closed, so a missing case is a compile error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace halfstep {

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>>;

/// Attributes by name, sorted by name. Construction fills in defaults, so every attribute of an operator is present.
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// Returns the attribute `name` as T. An absent attribute or another type is an internal error.
template <class T>
const T& get(const Attributes& attributes, std::string_view name);

/// Returns the spelling of the text form: 8, 0.1, true, "fixed_point", [1, 2]. Numbers have the shortest digits that
/// read back to the same value. A double never looks like an integer.
std::string to_string(const Attribute& value);

/// Returns `text` in double quotes, in ASCII. Escapes are `\"`, `\\`, `\n`, `\t`, and `\xNN` for every other byte
/// outside printable ASCII.
std::string quote(std::string_view text);

/// "int", "float", "bool", "string", "ints", "floats", "strings".
std::string_view type_name(const Attribute& value);

}  // namespace halfstep
