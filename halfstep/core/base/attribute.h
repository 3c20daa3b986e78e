// Values of operator attributes: a closed set, so a missing case is a compile error.
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

/// Attributes by name, in name order. Every attribute of an operator is present: defaults are filled in on
/// construction.
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// The attribute `name` as T; internal error when it is absent or of another type.
template <class T>
const T& get(const Attributes& attributes, std::string_view name);

/// As in the text form: 8, 0.1, true, "fixed_point", [1, 2]. Numbers shortest-round-trip; a double never looks like an
/// integer.
std::string to_string(const Attribute& value);

/// Between double quotes, in ASCII: `\"`, `\\`, `\n`, `\t`, and `\xNN` for every other byte that is not printable
/// ASCII.
std::string quote(std::string_view text);

/// "int", "float", "bool", "string", "ints", "floats", "strings".
std::string_view type_name(const Attribute& value);

}  // namespace halfstep
